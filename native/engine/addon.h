/* What the two files of the Node-API entry share: reading arguments, and the engine behind an external value. */
#ifndef SANDLOT_ADDON_H
#define SANDLOT_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>
#include "engine.h"

/* An engine as JavaScript holds it. One heavy call runs at a time; the caller queues them. */
typedef struct Handle {
  Engine *engine; /* NULL once closed */
  int is_busy;
} Handle;

/* The idle engine of the first argument; throws and returns NULL when it is closed or at work. */
Handle *idle_handle(napi_env env, napi_value value);
double number_of(napi_env env, napi_value object, const char *name);
/* Data of a typed array; its element count goes to `count`. NULL for null, undefined and anything else. */
void *array_of(napi_env env, napi_value value, size_t *count);
void *array_in(napi_env env, napi_value object, const char *name, size_t *count);
napi_value number_value(napi_env env, double value);

napi_value call_initialize(napi_env env, napi_callback_info info);
napi_value call_train(napi_env env, napi_callback_info info);
napi_value call_optimize(napi_env env, napi_callback_info info);
napi_value call_discard(napi_env env, napi_callback_info info);
napi_value call_snapshot(napi_env env, napi_callback_info info);
napi_value call_sample(napi_env env, napi_callback_info info);
napi_value call_refresh(napi_env env, napi_callback_info info);
napi_value call_bench(napi_env env, napi_callback_info info);

#endif
