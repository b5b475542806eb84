/*
 * AdamW. Gradients of the workers are added in worker order, so the sum does not depend on who ends first; the norm is
 * summed by fixed chunks, so it does not depend on how many threads share the work.
 */
#include <math.h>
#include <string.h>
#include "engine.h"

#define CHUNK 4096

typedef struct {
  Engine *engine;
  Adam options;
  float decay;
} Update;

static size_t chunk_count(const Engine *engine) { return (parameter_count(&engine->shape) + CHUNK - 1) / CHUNK; }

static size_t chunk_size(const Engine *engine, size_t chunk) {
  const size_t left = parameter_count(&engine->shape) - chunk * CHUNK;
  return left < CHUNK ? left : CHUNK;
}

static void sum_share(void *context, int index) {
  Engine *engine = context;
  float *total = engine->workers[0].gradient;
  for (size_t chunk = (size_t)index; chunk < chunk_count(engine); chunk += (size_t)engine->team.count) {
    const size_t start = chunk * CHUNK, count = chunk_size(engine, chunk);
    for (int worker = 1; worker < engine->team.count; worker++) {
      float *part = engine->workers[worker].gradient + start;
      engine->kernels->add(count, total + start, part);
      memset(part, 0, count * sizeof(float));
    }
    double sum = 0;
    for (size_t i = start; i < start + count; i++) sum += (double)total[i] * (double)total[i];
    engine->chunk_sums[chunk] = sum;
  }
}

/* Gains of norms are not decayed: they lie between the matrices, `width` at a time. */
static void adam_range(const Update *update, size_t from, size_t to, int is_decayed) {
  Engine *engine = update->engine;
  Adam options = update->options;
  options.decay = is_decayed ? update->decay : 0;
  engine->kernels->adam(to - from, engine->live.flat + from, engine->moment1 + from, engine->moment2 + from,
                        engine->workers[0].gradient + from, &options);
}

static void adam_share(void *context, int index) {
  const Update *update = context;
  Engine *engine = update->engine;
  const Shape *shape = &engine->shape;
  const size_t d = (size_t)shape->width, total = parameter_count(shape);
  /* Every tensor is a multiple of 32 long, and so is every share: no element's arithmetic depends on who does it. */
  const size_t from = total / HEAD * (size_t)index / (size_t)engine->team.count * HEAD;
  const size_t to = total / HEAD * (size_t)(index + 1) / (size_t)engine->team.count * HEAD;
  size_t at = from;
  /* Gains come in order: two in each layer, then the final one. */
  for (int gain = 0; gain <= 2 * shape->layers && at < to; gain++) {
    const LayerAt layer = layer_at(shape, gain / 2);
    const size_t start = gain % 2 == 0 ? layer.norm1 : layer.norm2, end = start + d;
    if (end <= at) continue;
    const size_t before = start < to ? start : to, after = end < to ? end : to;
    if (at < before) adam_range(update, at, before, 1);
    at = at < before ? before : at;
    if (at < after) adam_range(update, at, after, 0);
    at = at < after ? after : at;
  }
  if (at < to) adam_range(update, at, to, 1);
}

void engine_discard(Engine *engine) {
  for (int i = 0; i < engine->team.count; i++)
    memset(engine->workers[i].gradient, 0, parameter_count(&engine->shape) * sizeof(float));
}

double engine_optimize(Engine *engine, const AdamRequest *request) {
  team_run(&engine->team, sum_share, engine);
  double sum = 0;
  for (size_t chunk = 0; chunk < chunk_count(engine); chunk++) sum += engine->chunk_sums[chunk];
  const double norm = sqrt(sum);
  if (isfinite(norm)) {
    const double step = (double)++engine->adam_step;
    const int is_clipped = request->gradient_clip > 0 && norm > request->gradient_clip;
    Update update = {.engine = engine};
    update.decay = (float)(request->learning_rate * request->weight_decay);
    update.options.gradient_scale = is_clipped ? (float)(request->gradient_clip / norm) : 1.0f;
    update.options.beta1 = (float)request->beta1;
    update.options.beta2 = (float)request->beta2;
    update.options.epsilon = (float)request->epsilon;
    update.options.step_size = (float)(request->learning_rate / (1 - pow(request->beta1, step)));
    update.options.root_correction2 = (float)(1 / sqrt(1 - pow(request->beta2, step)));
    team_run(&engine->team, adam_share, &update);
    engine_refresh(engine);
  }
  memset(engine->workers[0].gradient, 0, parameter_count(&engine->shape) * sizeof(float));
  return norm;
}
