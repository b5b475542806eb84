/* Where things lie: offsets of the flat parameters and of their panels, and the one block of memory the engine takes. */
#include <stdlib.h>
#include <string.h>
#include "engine.h"

int padded(int width) { return width + PAD; }

static int round16(int n) { return (n + 15) / 16 * 16; }

size_t attention_room(int n) { return (size_t)(2 * HEAD + 2 * QUERY_BLOCK) * (size_t)padded(round16(n)); }

LayerAt layer_at(const Shape *shape, int layer) {
  const size_t d = (size_t)shape->width, square = d * d;
  LayerAt at;
  at.norm1 = (size_t)shape->vocab * d + (size_t)layer * (12 * square + 2 * d);
  at.qkv = at.norm1 + d;
  at.out = at.qkv + 3 * square;
  at.norm2 = at.out + square;
  at.up = at.norm2 + d;
  at.down = at.up + 4 * square;
  return at;
}

size_t final_norm_at(const Shape *shape) { return layer_at(shape, shape->layers).norm1; }

size_t head_at(const Shape *shape) { return final_norm_at(shape) + (size_t)shape->width; }

size_t parameter_count(const Shape *shape) { return head_at(shape) + (size_t)shape->vocab * (size_t)shape->width; }

static size_t panel_count(const Shape *shape) {
  const size_t d = (size_t)shape->width;
  return (size_t)shape->layers * 12 * d * d + (size_t)shape->vocab_padded * d;
}

LayerPanels layer_panels(const Shape *shape, const float *panels, int layer) {
  const size_t square = (size_t)shape->width * (size_t)shape->width;
  const float *base = panels + (size_t)layer * 12 * square;
  return (LayerPanels){base, base + 3 * square, base + 4 * square, base + 8 * square};
}

const float *head_panels(const Shape *shape, const float *panels) {
  return panels + (size_t)shape->layers * 12 * (size_t)shape->width * (size_t)shape->width;
}

/* Panels of 16 columns, inner elements one after another; columns beyond the matrix are 0. */
void pack_panels(float *target, const float *source, int inner, int columns, ptrdiff_t inner_stride,
                 ptrdiff_t column_stride) {
  for (int start = 0; start < columns; start += PANEL)
    for (int i = 0; i < inner; i++, target += PANEL)
      for (int c = 0; c < PANEL; c++)
        target[c] = start + c < columns ? source[i * inner_stride + (start + c) * column_stride] : 0.0f;
}

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define FORBID(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#define ALLOW(start, bytes) ASAN_UNPOISON_MEMORY_REGION(start, bytes)
#else
#define FORBID(start, bytes) (void)(start), (void)(bytes)
#define ALLOW(start, bytes) (void)(start), (void)(bytes)
#endif

/*
 * Hands out pieces of one block, each on a cache line; with no block it only counts. Between two pieces lie 64 bytes
 * or more that belong to neither: a build with the address sanitizer stops at the first touch of one.
 */
typedef struct {
  char *base;
  size_t used;
} Arena;

static void *take(Arena *arena, size_t count, size_t size) {
  const size_t bytes = (count * size + 127) / 64 * 64;
  char *piece = arena->base == NULL ? NULL : arena->base + arena->used;
  arena->used += bytes;
  if (piece != NULL) FORBID(piece + count * size, bytes - count * size);
  return piece;
}

static float *floats(Arena *arena, size_t count) { return take(arena, count, sizeof(float)); }

static Weights weights_in(Arena *arena, const Shape *shape) {
  Weights weights = {0};
  weights.flat = floats(arena, parameter_count(shape));
  weights.panels = floats(arena, panel_count(shape));
  return weights;
}

static void lay_saved(Arena *arena, const Shape *shape, size_t rows, LayerSaved *saved) {
  const size_t narrow = rows * (size_t)padded(shape->width), wide = rows * (size_t)padded(4 * shape->width);
  LayerSaved s;
  s.x = floats(arena, narrow);
  s.h1 = floats(arena, narrow);
  s.qkv = floats(arena, rows * (size_t)padded(3 * shape->width));
  s.attended = floats(arena, narrow);
  s.middle = floats(arena, narrow);
  s.h2 = floats(arena, narrow);
  s.up = floats(arena, wide);
  s.activated = floats(arena, wide);
  s.scale1 = floats(arena, rows);
  s.scale2 = floats(arena, rows);
  if (saved != NULL) *saved = s;
}

static void lay_slots(Arena *arena, const Config *config, Worker *worker) {
  const Shape *shape = &config->shape;
  const size_t block = (size_t)HEAD * (size_t)round16(shape->context);
  const size_t blocks = (size_t)shape->layers * (size_t)shape->heads * (size_t)config->slots;
  worker->slot_count = config->slots;
  worker->slots = take(arena, (size_t)config->slots, sizeof(Slot));
  worker->keys = floats(arena, block * blocks);
  worker->values = floats(arena, block * blocks);
  for (int i = 0; i < config->slots; i++) {
    int *tokens = take(arena, (size_t)shape->context, sizeof(int));
    if (arena->base != NULL) worker->slots[i].tokens = tokens;
  }
}

/* One room serves attention of a sequence, attention over the cache, and the probabilities of a draw, by turns. */
static size_t room_count(const Shape *shape) {
  size_t count = attention_room(shape->context);
  const size_t cached = (size_t)shape->heads * (size_t)round16(shape->context), draw = (size_t)shape->vocab_padded;
  if (cached > count) count = cached;
  return draw > count ? draw : count;
}

static void lay_worker(Arena *arena, const Config *config, Worker *worker) {
  const Shape *shape = &config->shape;
  const size_t rows = (size_t)config->rows, narrow = rows * (size_t)padded(shape->width);
  worker->gradient = floats(arena, parameter_count(shape));
  worker->saved = take(arena, (size_t)shape->layers, sizeof(LayerSaved));
  for (int layer = 0; layer < shape->layers; layer++)
    lay_saved(arena, shape, rows, arena->base == NULL ? NULL : &worker->saved[layer]);
  worker->x_final = floats(arena, narrow);
  worker->h_final = floats(arena, narrow);
  worker->scale_final = floats(arena, rows);
  worker->picked = floats(arena, narrow);
  worker->logits = floats(arena, rows * (size_t)padded(shape->vocab_padded));
  worker->d_x = floats(arena, narrow);
  worker->d_h = floats(arena, narrow);
  worker->d_wide = floats(arena, rows * (size_t)padded(4 * shape->width));
  worker->d_picked = floats(arena, narrow);
  worker->room = floats(arena, room_count(shape));
  worker->row_token = take(arena, rows, sizeof(int));
  worker->row_position = take(arena, rows, sizeof(int));
  worker->target_row = take(arena, rows, sizeof(int));
  worker->target_at = take(arena, rows, sizeof(int));
  worker->row_slot = take(arena, rows, sizeof(int));
  lay_slots(arena, config, worker);
}

static void lay_jobs(Arena *arena, const Config *config, Engine *engine) {
  const size_t context = (size_t)config->shape.context;
  engine->job_count = 3 * config->threads * config->slots;
  engine->jobs = take(arena, (size_t)engine->job_count, sizeof(Job));
  for (int i = 0; i < engine->job_count; i++) {
    int *prompt = take(arena, context, sizeof(int)), *ids = take(arena, context, sizeof(int));
    float *logprobs = floats(arena, context);
    if (arena->base == NULL) continue;
    engine->jobs[i].prompt = prompt;
    engine->jobs[i].ids = ids;
    engine->jobs[i].logprobs = logprobs;
  }
}

static void lay_out(Arena *arena, const Config *config, Engine *engine) {
  const Shape *shape = &config->shape;
  const size_t parameters = parameter_count(shape);
  engine->live = weights_in(arena, shape);
  engine->panels_back = floats(arena, panel_count(shape));
  engine->moment1 = floats(arena, parameters);
  engine->moment2 = floats(arena, parameters);
  engine->chunk_sums = take(arena, parameters / 4096 + 1, sizeof(double));
  engine->cosines = floats(arena, (size_t)shape->context * HEAD / 2);
  engine->sines = floats(arena, (size_t)shape->context * HEAD / 2);
  engine->snapshots = take(arena, (size_t)config->snapshots, sizeof(Weights));
  for (int i = 0; i < config->snapshots; i++) {
    const Weights weights = weights_in(arena, shape);
    if (arena->base != NULL) engine->snapshots[i] = weights;
  }
  for (int i = 0; i < config->threads; i++) lay_worker(arena, config, &engine->workers[i]);
  lay_jobs(arena, config, engine);
}

size_t engine_bytes(const Config *config) {
  Engine engine = {0};
  Arena arena = {NULL, 0};
  lay_out(&arena, config, &engine);
  return arena.used + sizeof(Engine);
}

void engine_release(Engine *engine) {
  ALLOW(engine->memory, engine->bytes);
  free(engine->memory);
  free(engine);
}

Engine *engine_place(const Config *config) {
  Engine *engine = calloc(1, sizeof(Engine));
  if (engine == NULL) return NULL;
  engine->config = *config;
  engine->shape = config->shape;
  engine->bytes = engine_bytes(config);
  if (posix_memalign(&engine->memory, 4096, engine->bytes) != 0) {
    free(engine);
    return NULL;
  }
  memset(engine->memory, 0, engine->bytes);
  Arena arena = {engine->memory, 0};
  lay_out(&arena, config, engine);
  return engine;
}
