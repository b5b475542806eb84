/*
 * Node-API entry: opening and closing, reading and writing weights, and the queue of samples. These calls are short
 * and run on the caller's thread; the heavy ones are in addon_calls.c.
 */
#include "addon.h"
#include <stdlib.h>
#include <string.h>

double number_of(napi_env env, napi_value object, const char *name) {
  napi_value value;
  double number = 0;
  if (napi_get_named_property(env, object, name, &value) == napi_ok) napi_get_value_double(env, value, &number);
  return number;
}

void *array_of(napi_env env, napi_value value, size_t *count) {
  bool is_array = false;
  void *data = NULL;
  *count = 0;
  napi_is_typedarray(env, value, &is_array);
  if (is_array) napi_get_typedarray_info(env, value, NULL, count, &data, NULL, NULL);
  return data;
}

void *array_in(napi_env env, napi_value object, const char *name, size_t *count) {
  napi_value value;
  napi_get_named_property(env, object, name, &value);
  return array_of(env, value, count);
}

napi_value number_value(napi_env env, double value) {
  napi_value result;
  napi_create_double(env, value, &result);
  return result;
}

Handle *idle_handle(napi_env env, napi_value value) {
  Handle *handle = NULL;
  napi_get_value_external(env, value, (void **)&handle);
  if (handle == NULL || handle->engine == NULL) {
    napi_throw_error(env, NULL, "the engine is closed");
    return NULL;
  }
  if (handle->is_busy) {
    napi_throw_error(env, NULL, "the engine is at work: calls must be queued");
    return NULL;
  }
  return handle;
}

static Config config_of(napi_env env, napi_value object) {
  Config config = {0};
  config.shape.layers = (int)number_of(env, object, "layers");
  config.shape.width = (int)number_of(env, object, "width");
  config.shape.vocab = (int)number_of(env, object, "vocab");
  config.shape.context = (int)number_of(env, object, "context");
  config.shape.heads = config.shape.width / HEAD;
  config.shape.vocab_padded = (config.shape.vocab + 15) / 16 * 16;
  config.threads = (int)number_of(env, object, "threads");
  config.slots = (int)number_of(env, object, "slots");
  config.rows = (int)number_of(env, object, "rows");
  config.snapshots = (int)number_of(env, object, "snapshots");
  config.force_generic = (int)number_of(env, object, "forceGeneric");
  return config;
}

static napi_value argument(napi_env env, napi_callback_info info, int index) {
  napi_value values[4];
  size_t count = 4;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  return values[index];
}

/* bytes(config): what `open` would take. */
static napi_value bytes(napi_env env, napi_callback_info info) {
  const Config config = config_of(env, argument(env, info, 0));
  return number_value(env, (double)engine_bytes(&config));
}

static void finalize(napi_env env, void *data, void *hint) {
  (void)env, (void)hint;
  Handle *handle = data;
  if (handle->engine != NULL && !handle->is_busy) engine_close(handle->engine);
  free(handle);
}

/* open(config): an external value. */
static napi_value open_engine(napi_env env, napi_callback_info info) {
  const Config config = config_of(env, argument(env, info, 0));
  const Shape *shape = &config.shape;
  if (config.threads < 1 || config.threads > THREADS_MAX || config.slots < 1 || config.slots > config.rows ||
      config.snapshots < 1 || shape->layers < 1 || shape->width < HEAD || shape->width % HEAD != 0 ||
      shape->vocab < 1 || shape->context < 2 || config.rows < shape->context) {
    napi_throw_error(env, NULL, "the engine's configuration is out of range");
    return NULL;
  }
  Handle *handle = calloc(1, sizeof(Handle));
  if (handle != NULL) handle->engine = engine_open(&config);
  if (handle == NULL || handle->engine == NULL) {
    free(handle);
    napi_throw_error(env, NULL, "the system refused memory or threads");
    return NULL;
  }
  napi_value result;
  napi_create_external(env, handle, finalize, NULL, &result);
  return result;
}

static napi_value close_engine(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  engine_close(handle->engine);
  handle->engine = NULL;
  return NULL;
}

static void set_number(napi_env env, napi_value object, const char *name, double value) {
  napi_set_named_property(env, object, name, number_value(env, value));
}

/* describe(engine): kernels, parameters, bytes, optimizer steps, and rows the sampler has worked on. */
static napi_value describe(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  const Engine *engine = handle->engine;
  napi_value result, name;
  napi_create_object(env, &result);
  napi_create_string_utf8(env, engine->kernels->name, NAPI_AUTO_LENGTH, &name);
  napi_set_named_property(env, result, "kernels", name);
  set_number(env, result, "parameters", (double)parameter_count(&engine->shape));
  set_number(env, result, "bytes", (double)engine->bytes);
  set_number(env, result, "adamStep", (double)engine->adam_step);
  double prefilled = 0, decoded = 0, shared = 0;
  for (int i = 0; i < engine->team.count; i++) {
    prefilled += (double)engine->workers[i].rows_prefilled;
    decoded += (double)engine->workers[i].rows_decoded;
    shared += (double)engine->workers[i].rows_shared;
  }
  set_number(env, result, "rowsPrefilled", prefilled);
  set_number(env, result, "rowsDecoded", decoded);
  set_number(env, result, "rowsShared", shared);
  return result;
}

/* 0 the live weights, 1 and 2 the Adam moments, 3 and up the snapshots. */
static float *parameters_at(Engine *engine, int place) {
  if (place == 0) return engine->live.flat;
  if (place == 1) return engine->moment1;
  if (place == 2) return engine->moment2;
  if (place - 3 < engine->config.snapshots) return engine->snapshots[place - 3].flat;
  return NULL;
}

/* copy(engine, place, array, isWrite): between the engine and an array of all parameters. */
static napi_value copy(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  double place = 0;
  bool is_write = false;
  size_t count;
  napi_get_value_double(env, argument(env, info, 1), &place);
  napi_get_value_bool(env, argument(env, info, 3), &is_write);
  float *array = array_of(env, argument(env, info, 2), &count);
  float *own = parameters_at(handle->engine, (int)place);
  if (own == NULL || array == NULL || count != parameter_count(&handle->engine->shape)) {
    napi_throw_error(env, NULL, "the array does not hold one float for each parameter");
    return NULL;
  }
  memcpy(is_write ? own : array, is_write ? array : own, count * sizeof(float));
  return NULL;
}

/* gradient(engine, array): the sum over workers, for tests. */
static napi_value gradient(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  size_t count;
  float *array = array_of(env, argument(env, info, 1), &count);
  if (array == NULL || count != parameter_count(&handle->engine->shape)) return NULL;
  memset(array, 0, count * sizeof(float));
  for (int i = 0; i < handle->engine->team.count; i++)
    handle->engine->kernels->add(count, array, handle->engine->workers[i].gradient);
  return NULL;
}

static napi_value set_adam_step(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  double step = 0;
  napi_get_value_double(env, argument(env, info, 1), &step);
  handle->engine->adam_step = (int64_t)step;
  return NULL;
}

/* submit(engine, request): false while the queue is full. Lengths and ids were checked by the caller. */
static napi_value submit(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  napi_value request = argument(env, info, 1), seed, result;
  size_t prompt_count, stop_count;
  const int *prompt = array_in(env, request, "promptIds", &prompt_count);
  const int *stops = array_in(env, request, "stopIds", &stop_count);
  Job *job = sampler_claim(handle->engine);
  napi_get_boolean(env, job != NULL, &result);
  if (job == NULL) return result;
  const int tokens_max = (int)number_of(env, request, "tokensMax");
  if (prompt_count < 1 || stop_count > STOP_IDS_MAX || tokens_max < 1 ||
      (int)prompt_count + tokens_max > handle->engine->shape.context) {
    napi_throw_error(env, NULL, "the request does not fit the engine");
    return NULL;
  }
  job->id = (int64_t)number_of(env, request, "id");
  job->snapshot = (int)number_of(env, request, "snapshot");
  job->prompt_count = (int)prompt_count;
  job->tokens_max = tokens_max;
  job->temperature = (float)number_of(env, request, "temperature");
  job->stop_count = (int)stop_count;
  job->count = job->is_stopped = 0;
  memcpy(job->prompt, prompt, prompt_count * sizeof(int));
  if (stop_count > 0) memcpy(job->stop_ids, stops, stop_count * sizeof(int));
  bool is_lossless;
  napi_get_named_property(env, request, "seed", &seed);
  napi_get_value_bigint_uint64(env, seed, &job->seed, &is_lossless);
  job->state = JOB_PENDING;
  return result;
}

static napi_value cancel(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  double id = -1;
  napi_get_value_double(env, argument(env, info, 1), &id);
  sampler_cancel(handle->engine, (int64_t)id);
  return NULL;
}

static napi_value array_copy(napi_env env, const void *data, int count, napi_typedarray_type type) {
  void *target;
  napi_value buffer, array;
  napi_create_arraybuffer(env, (size_t)count * 4, &target, &buffer);
  memcpy(target, data, (size_t)count * 4);
  napi_create_typedarray(env, type, (size_t)count, buffer, 0, &array);
  return array;
}

/* collect(engine): the finished samples, each once. */
static napi_value collect(napi_env env, napi_callback_info info) {
  Handle *handle = idle_handle(env, argument(env, info, 0));
  if (handle == NULL) return NULL;
  napi_value list;
  uint32_t count = 0;
  napi_create_array(env, &list);
  for (int i = 0; i < handle->engine->job_count; i++) {
    Job *job = &handle->engine->jobs[i];
    if (job->state != JOB_DONE) continue;
    napi_value item, stopped;
    napi_create_object(env, &item);
    set_number(env, item, "id", (double)job->id);
    napi_set_named_property(env, item, "ids", array_copy(env, job->ids, job->count, napi_int32_array));
    napi_set_named_property(env, item, "logprobs", array_copy(env, job->logprobs, job->count, napi_float32_array));
    napi_get_boolean(env, job->is_stopped, &stopped);
    napi_set_named_property(env, item, "isStopped", stopped);
    napi_set_element(env, list, count++, item);
    job->state = JOB_FREE;
  }
  return list;
}

NAPI_MODULE_INIT() {
  const struct {
    const char *name;
    napi_callback callback;
  } functions[] = {
      {"bytes", bytes},           {"open", open_engine},          {"close", close_engine},
      {"describe", describe},     {"copy", copy},                 {"gradient", gradient},
      {"submit", submit},         {"cancel", cancel},             {"collect", collect},
      {"setAdamStep", set_adam_step}, {"initialize", call_initialize}, {"train", call_train},
      {"optimize", call_optimize}, {"discard", call_discard},     {"snapshot", call_snapshot},
      {"sample", call_sample},    {"refresh", call_refresh},      {"bench", call_bench},
  };
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
    napi_value function;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].callback, NULL, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}
