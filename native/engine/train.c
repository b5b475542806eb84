/*
 * Forward and backward over packed sequences. A worker takes its packs in the order of the plan; a pack is about 256
 * rows of whole sequences, without padding. Only rows whose next token is trained reach the output matrix.
 */
#include <math.h>
#include <string.h>
#include "engine.h"

/* One pack while it is computed. */
typedef struct {
  Worker *worker;
  const Batch *batch;
  const Weights *weights;
  const int *sequences;
  int count, rows, targets;
} Pack;

/* Rows of a sequence that matter: up to the one that predicts its last trained token. */
static int rows_of(const Batch *batch, int sequence) {
  const int start = batch->offsets[sequence];
  int rows = batch->offsets[sequence + 1] - start - 1;
  while (rows > 0 && !batch->mask[start + rows]) rows--;
  return rows > 0 ? rows : 0;
}

void project_qkv(Engine *engine, const LayerSaved *saved, const LayerPanels *panels, const float *norm, int rows,
                 const int *positions) {
  const int d = engine->shape.width, ld = padded(d), wide = padded(3 * d);
  const Kernels *k = engine->kernels;
  k->norm(rows, d, saved->x, ld, norm, saved->h1, ld, saved->scale1);
  k->gemm(rows, 3 * d, d, saved->h1, ld, 1, panels->qkv, d * PANEL, PANEL, saved->qkv, wide, 0);
  for (int row = 0; row < rows; row++)
    k->rotate(saved->qkv + row * wide, d, engine->cosines + positions[row] * HEAD / 2,
              engine->sines + positions[row] * HEAD / 2, 1);
}

void finish_layer(Engine *engine, const LayerSaved *saved, const LayerPanels *panels, const float *norm2, int rows,
                  float *x_next) {
  const int d = engine->shape.width, ld = padded(d), wide = padded(4 * d);
  const size_t bytes = (size_t)rows * (size_t)ld * sizeof(float);
  const Kernels *k = engine->kernels;
  memcpy(saved->middle, saved->x, bytes);
  k->gemm(rows, d, d, saved->attended, ld, 1, panels->out, d * PANEL, PANEL, saved->middle, ld, 1);
  k->norm(rows, d, saved->middle, ld, norm2, saved->h2, ld, saved->scale2);
  k->gemm(rows, 4 * d, d, saved->h2, ld, 1, panels->up, d * PANEL, PANEL, saved->up, wide, 0);
  k->gelu(rows, 4 * d, saved->up, saved->activated, wide);
  memcpy(x_next, saved->middle, bytes);
  k->gemm(rows, d, 4 * d, saved->activated, wide, 1, panels->down, 4 * d * PANEL, PANEL, x_next, ld, 1);
}

/* Tokens, positions and trained targets of the pack's rows, and the embeddings as the first layer's input. */
static void gather(Pack *pack) {
  Worker *w = pack->worker;
  const Batch *batch = pack->batch;
  const int d = w->engine->shape.width, ld = padded(d);
  pack->rows = pack->targets = 0;
  for (int i = 0; i < pack->count; i++) {
    const int start = batch->offsets[pack->sequences[i]], rows = rows_of(batch, pack->sequences[i]);
    for (int position = 0; position < rows; position++, pack->rows++) {
      const int token = batch->tokens[start + position];
      w->row_token[pack->rows] = token;
      w->row_position[pack->rows] = position;
      memcpy(w->saved[0].x + pack->rows * ld, pack->weights->flat + (size_t)token * (size_t)d,
             (size_t)d * sizeof(float));
      if (!batch->mask[start + position + 1]) continue;
      w->target_row[pack->targets] = pack->rows;
      w->target_at[pack->targets++] = start + position + 1;
    }
  }
}

static void forward_layers(Pack *pack) {
  Worker *w = pack->worker;
  Engine *engine = w->engine;
  const Shape *shape = &engine->shape;
  const int d = shape->width, ld = padded(d), wide = padded(3 * d);
  for (int layer = 0; layer < shape->layers; layer++) {
    const LayerSaved *saved = &w->saved[layer];
    const LayerAt at = layer_at(shape, layer);
    const LayerPanels panels = layer_panels(shape, pack->weights->panels, layer);
    project_qkv(engine, saved, &panels, pack->weights->flat + at.norm1, pack->rows, w->row_position);
    for (int i = 0, row = 0; i < pack->count; i++) {
      const int rows = rows_of(pack->batch, pack->sequences[i]);
      if (rows > 0)
        engine->kernels->attend(rows, shape->heads, saved->qkv + row * wide, wide, saved->attended + row * ld, ld,
                                w->room);
      row += rows;
    }
    float *next = layer + 1 < shape->layers ? w->saved[layer + 1].x : w->x_final;
    finish_layer(engine, saved, &panels, pack->weights->flat + at.norm2, pack->rows, next);
  }
  engine->kernels->norm(pack->rows, d, w->x_final, ld, pack->weights->flat + final_norm_at(shape), w->h_final, ld,
                        w->scale_final);
}

static int sequence_at(const Pack *pack, int at, int from) {
  while (at >= pack->batch->offsets[pack->sequences[from] + 1] || at < pack->batch->offsets[pack->sequences[from]])
    from++;
  return from;
}

/* Log-probabilities and entropies of the targets. For backward, logits become the gradient of the loss by them. */
static void predict(Pack *pack) {
  Worker *w = pack->worker;
  const Batch *batch = pack->batch;
  const Shape *shape = &w->engine->shape;
  const Kernels *k = w->engine->kernels;
  const int d = shape->width, ld = padded(d), ldz = padded(shape->vocab_padded);
  for (int i = 0; i < pack->targets; i++)
    memcpy(w->picked + i * ld, w->h_final + w->target_row[i] * ld, (size_t)d * sizeof(float));
  k->gemm(pack->targets, shape->vocab_padded, d, w->picked, ld, 1, head_panels(shape, pack->weights->panels), d * PANEL,
          PANEL, w->logits, ldz, 0);
  for (int i = 0, from = 0; i < pack->targets; i++) {
    const int at = w->target_at[i], token = batch->tokens[at];
    from = sequence_at(pack, at, from);
    const float scale = 1.0f / batch->temperatures[pack->sequences[from]];
    float *z = w->logits + i * ldz, max, dot;
    for (int j = shape->vocab; j < shape->vocab_padded; j++) z[j] = -1e4f;
    const float own = z[token];
    const float sum = k->distribution(shape->vocab_padded, z, scale, z, &max, &dot);
    const float logprob = token_logprob(own, scale, max, sum);
    batch->logprobs[at] = logprob;
    if (batch->entropy != NULL) batch->entropy[at] = (float)(log((double)sum) - (double)dot / (double)sum);
    if (batch->coefficients == NULL) continue;
    const float pull = batch->coefficients[at] * scale, spread = pull / sum;
    for (int j = 0; j < shape->vocab_padded; j++) z[j] *= spread;
    z[token] -= pull;
  }
}

/* Gradients of the output matrix and the final norm; leaves the gradient by the last layer's output in d_x. */
static void backward_head(Pack *pack) {
  Worker *w = pack->worker;
  const Shape *shape = &w->engine->shape;
  const Kernels *k = w->engine->kernels;
  const int d = shape->width, ld = padded(d), ldz = padded(shape->vocab_padded);
  const size_t norm = final_norm_at(shape), bytes = (size_t)pack->rows * (size_t)ld * sizeof(float);
  k->gemm(shape->vocab, d, pack->targets, w->logits, 1, ldz, w->picked, PANEL, ld, w->gradient + head_at(shape), d, 1);
  k->gemm(pack->targets, d, shape->vocab, w->logits, ldz, 1, head_panels(shape, w->engine->panels_back),
          shape->vocab * PANEL, PANEL, w->d_picked, ld, 0);
  memset(w->d_h, 0, bytes);
  for (int i = 0; i < pack->targets; i++)
    memcpy(w->d_h + w->target_row[i] * ld, w->d_picked + i * ld, (size_t)d * sizeof(float));
  memset(w->d_x, 0, bytes);
  k->norm_back(pack->rows, d, w->x_final, ld, w->scale_final, w->engine->live.flat + norm, w->d_h, ld, w->d_x, ld,
               w->gradient + norm);
}

static void backward_attention(Pack *pack, const LayerSaved *saved) {
  Worker *w = pack->worker;
  Engine *engine = w->engine;
  const int d = engine->shape.width, ld = padded(d), wide = padded(3 * d);
  for (int i = 0, row = 0; i < pack->count; i++) {
    const int rows = rows_of(pack->batch, pack->sequences[i]);
    if (rows > 0)
      engine->kernels->attend_back(rows, engine->shape.heads, saved->qkv + row * wide, wide, saved->attended + row * ld,
                                   w->d_h + row * ld, ld, w->d_wide + row * wide, w->room);
    row += rows;
  }
  for (int row = 0; row < pack->rows; row++)
    engine->kernels->rotate(w->d_wide + row * wide, d, engine->cosines + w->row_position[row] * HEAD / 2,
                            engine->sines + w->row_position[row] * HEAD / 2, -1);
}

/* d_x holds the gradient by the layer's output on entry and by its input on return. */
static void backward_layer(Pack *pack, int layer) {
  Worker *w = pack->worker;
  const Shape *shape = &w->engine->shape;
  const Kernels *k = w->engine->kernels;
  const LayerSaved *s = &w->saved[layer];
  const LayerAt at = layer_at(shape, layer);
  const LayerPanels back = layer_panels(shape, w->engine->panels_back, layer);
  const float *flat = w->engine->live.flat;
  float *g = w->gradient;
  const int rows = pack->rows, d = shape->width, ld = padded(d), ld3 = padded(3 * d), ld4 = padded(4 * d);

  k->gemm(4 * d, d, rows, s->activated, 1, ld4, w->d_x, PANEL, ld, g + at.down, d, 1);
  k->gemm(rows, 4 * d, d, w->d_x, ld, 1, back.down, d * PANEL, PANEL, w->d_wide, ld4, 0);
  k->gelu_back(rows, 4 * d, s->up, w->d_wide, ld4);
  k->gemm(d, 4 * d, rows, s->h2, 1, ld, w->d_wide, PANEL, ld4, g + at.up, 4 * d, 1);
  k->gemm(rows, d, 4 * d, w->d_wide, ld4, 1, back.up, 4 * d * PANEL, PANEL, w->d_h, ld, 0);
  k->norm_back(rows, d, s->middle, ld, s->scale2, flat + at.norm2, w->d_h, ld, w->d_x, ld, g + at.norm2);

  k->gemm(d, d, rows, s->attended, 1, ld, w->d_x, PANEL, ld, g + at.out, d, 1);
  k->gemm(rows, d, d, w->d_x, ld, 1, back.out, d * PANEL, PANEL, w->d_h, ld, 0);
  backward_attention(pack, s);
  k->gemm(d, 3 * d, rows, s->h1, 1, ld, w->d_wide, PANEL, ld3, g + at.qkv, 3 * d, 1);
  k->gemm(rows, d, 3 * d, w->d_wide, ld3, 1, back.qkv, 3 * d * PANEL, PANEL, w->d_h, ld, 0);
  k->norm_back(rows, d, s->x, ld, s->scale1, flat + at.norm1, w->d_h, ld, w->d_x, ld, g + at.norm1);
}

static void run_pack(Pack *pack) {
  Worker *w = pack->worker;
  const Shape *shape = &w->engine->shape;
  const int d = shape->width;
  gather(pack);
  if (pack->rows == 0) return;
  forward_layers(pack);
  predict(pack);
  if (pack->batch->coefficients == NULL) return;
  backward_head(pack);
  for (int layer = shape->layers - 1; layer >= 0; layer--) backward_layer(pack, layer);
  for (int row = 0; row < pack->rows; row++)
    w->engine->kernels->add((size_t)d, w->gradient + (size_t)w->row_token[row] * (size_t)d, w->d_x + row * padded(d));
}

typedef struct {
  Engine *engine;
  const Batch *batch;
} TrainCall;

static void train_share(void *context, int index) {
  const TrainCall *call = context;
  const Batch *batch = call->batch;
  const int first = index == 0 ? 0 : batch->worker_ends[index - 1];
  for (int i = first; i < batch->worker_ends[index]; i++) {
    const int start = i == 0 ? 0 : batch->pack_ends[i - 1];
    Pack pack = {
        .worker = &call->engine->workers[index],
        .batch = batch,
        .weights = batch->weights < 0 ? &call->engine->live : &call->engine->snapshots[batch->weights],
        .sequences = batch->order + start,
        .count = batch->pack_ends[i] - start,
    };
    run_pack(&pack);
  }
}

void engine_train(Engine *engine, const Batch *batch) {
  TrainCall call = {engine, batch};
  team_run(&engine->team, train_share, &call);
}
