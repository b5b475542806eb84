/*
 * Heavy calls of the Node-API entry. Each runs on a thread of libuv's pool, which leads the engine's team, and settles a
 * promise; the event loop stays free. The argument object is held until the end, so its arrays stay in place.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "addon.h"

typedef struct Call {
  napi_async_work work;
  napi_deferred deferred;
  napi_ref kept;
  Handle *handle;
  Engine *engine;
  void (*run)(struct Call *call);
  Batch batch;
  AdamRequest adam;
  uint64_t seed;
  int number;
  double result;
} Call;

static void execute(napi_env env, void *data) {
  (void)env;
  Call *call = data;
  call->run(call);
}

static void complete(napi_env env, napi_status status, void *data) {
  Call *call = data;
  call->handle->is_busy = 0;
  napi_value value = number_value(env, call->result);
  if (status == napi_ok) {
    napi_resolve_deferred(env, call->deferred, value);
  } else {
    napi_value text, error;
    napi_create_string_utf8(env, "the engine call was cancelled", NAPI_AUTO_LENGTH, &text);
    napi_create_error(env, NULL, text, &error);
    napi_reject_deferred(env, call->deferred, error);
  }
  napi_delete_reference(env, call->kept);
  napi_delete_async_work(env, call->work);
  free(call);
}

/* The two arguments of every heavy call: the engine and an object of parameters. */
static Call *begin(napi_env env, napi_callback_info info, napi_value *parameters) {
  napi_value values[2];
  size_t count = 2;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  Handle *handle = idle_handle(env, values[0]);
  if (handle == NULL) return NULL;
  Call *call = calloc(1, sizeof(Call));
  if (call == NULL) {
    napi_throw_error(env, NULL, "the system refused memory");
    return NULL;
  }
  call->handle = handle;
  call->engine = handle->engine;
  /* The engine must outlive the call, so both arguments are held by one array. */
  napi_value held;
  napi_create_array(env, &held);
  napi_set_element(env, held, 0, values[0]);
  napi_set_element(env, held, 1, values[1]);
  napi_create_reference(env, held, 1, &call->kept);
  *parameters = values[1];
  return call;
}

static napi_value start(napi_env env, Call *call, void (*run)(Call *call)) {
  napi_value promise, name;
  call->run = run;
  call->handle->is_busy = 1;
  napi_create_promise(env, &call->deferred, &promise);
  napi_create_string_utf8(env, "sandlot-engine", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, call, &call->work);
  napi_queue_async_work(env, call->work);
  return promise;
}

static void run_initialize(Call *call) { engine_initialize(call->engine, call->seed); }
static void run_train(Call *call) { engine_train(call->engine, &call->batch); }
static void run_optimize(Call *call) { call->result = engine_optimize(call->engine, &call->adam); }
static void run_discard(Call *call) { engine_discard(call->engine); }
static void run_snapshot(Call *call) { call->result = engine_snapshot(call->engine, call->number); }
static void run_sample(Call *call) { sampler_run(call->engine, call->number); }
static void run_refresh(Call *call) { engine_refresh(call->engine); }

napi_value call_initialize(napi_env env, napi_callback_info info) {
  napi_value parameters, seed;
  Call *call = begin(env, info, &parameters);
  if (call == NULL) return NULL;
  bool is_lossless;
  napi_get_named_property(env, parameters, "seed", &seed);
  napi_get_value_bigint_uint64(env, seed, &call->seed, &is_lossless);
  return start(env, call, run_initialize);
}

/* All arrays were made and checked by the caller, the plan against the number of workers as well. */
napi_value call_train(napi_env env, napi_callback_info info) {
  napi_value parameters;
  Call *call = begin(env, info, &parameters);
  if (call == NULL) return NULL;
  size_t count;
  Batch *batch = &call->batch;
  batch->tokens = array_in(env, parameters, "tokens", &count);
  batch->offsets = array_in(env, parameters, "offsets", &count);
  batch->mask = array_in(env, parameters, "mask", &count);
  batch->coefficients = array_in(env, parameters, "coefficients", &count);
  batch->temperatures = array_in(env, parameters, "temperatures", &count);
  batch->order = array_in(env, parameters, "order", &count);
  batch->pack_ends = array_in(env, parameters, "packEnds", &count);
  batch->worker_ends = array_in(env, parameters, "workerEnds", &count);
  batch->logprobs = array_in(env, parameters, "logprobs", &count);
  batch->entropy = array_in(env, parameters, "entropy", &count);
  batch->weights = (int)number_of(env, parameters, "weights");
  return start(env, call, run_train);
}

napi_value call_optimize(napi_env env, napi_callback_info info) {
  napi_value parameters;
  Call *call = begin(env, info, &parameters);
  if (call == NULL) return NULL;
  call->adam.learning_rate = number_of(env, parameters, "learningRate");
  call->adam.beta1 = number_of(env, parameters, "beta1");
  call->adam.beta2 = number_of(env, parameters, "beta2");
  call->adam.epsilon = number_of(env, parameters, "epsilon");
  call->adam.weight_decay = number_of(env, parameters, "weightDecay");
  call->adam.gradient_clip = number_of(env, parameters, "gradientClip");
  return start(env, call, run_optimize);
}

static napi_value start_numbered(napi_env env, napi_callback_info info, const char *name, void (*run)(Call *call)) {
  napi_value parameters;
  Call *call = begin(env, info, &parameters);
  if (call == NULL) return NULL;
  call->number = (int)number_of(env, parameters, name);
  return start(env, call, run);
}

napi_value call_discard(napi_env env, napi_callback_info info) { return start_numbered(env, info, "none", run_discard); }
napi_value call_refresh(napi_env env, napi_callback_info info) { return start_numbered(env, info, "none", run_refresh); }
napi_value call_sample(napi_env env, napi_callback_info info) { return start_numbered(env, info, "steps", run_sample); }

napi_value call_snapshot(napi_env env, napi_callback_info info) {
  return start_numbered(env, info, "index", run_snapshot);
}

/* Of this thread's processor time, so that others on the machine disturb the figure less. */
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* GFLOP/s of one n x n x n product on one thread, packing of the right side counted. */
static void run_bench(Call *call) {
  const size_t n = (size_t)call->number, bytes = n * n * sizeof(float);
  float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes), *panels = malloc(bytes);
  if (a != NULL && b != NULL && c != NULL && panels != NULL) {
    for (size_t i = 0; i < n * n; i++) a[i] = b[i] = (float)(mix64(i) >> 40) * 1e-7f;
    memset(c, 0, bytes);
    memset(panels, 0, bytes);
    const double before = seconds();
    pack_panels(panels, b, (int)n, (int)n, (ptrdiff_t)n, 1);
    call->engine->kernels->gemm((int)n, (int)n, (int)n, a, (ptrdiff_t)n, 1, panels, (ptrdiff_t)n * PANEL, PANEL, c,
                                (ptrdiff_t)n, 0);
    call->result = 2.0 * (double)n * (double)n * (double)n / (seconds() - before) * 1e-9;
  }
  free(a), free(b), free(c), free(panels);
}

napi_value call_bench(napi_env env, napi_callback_info info) { return start_numbered(env, info, "size", run_bench); }
