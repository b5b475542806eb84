/*
 * The embedded engine: a pre-norm decoder-only transformer (RMSNorm, rotary positions, heads of 32, feed-forward 4d,
 * no biases, untied output matrix, float32) with forward, backward, AdamW and a batched KV-cache sampler.
 *
 * Invariant: every kernel adds along the inner dimension in the same order for every row and every row count, so a
 * log-probability does not depend on what else is in the batch, and the sampler agrees with the trainer.
 * All memory is taken at open; nothing is allocated per step.
 */
#ifndef SANDLOT_ENGINE_H
#define SANDLOT_ENGINE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD 32              /* head size */
#define PANEL 16             /* columns of one packed weight panel */
#define PAD 16               /* floats added to a leading dimension, so that rows do not share cache sets */
#define QUERY_BLOCK 48       /* query rows of one attention block; a multiple of the tile height 6 */
#define STOP_IDS_MAX 16      /* stop ids of one request */
#define THREADS_MAX 16

/* One AdamW update; `step_size` carries the first bias correction, `root_correction2` the second. */
typedef struct Adam {
  float gradient_scale, beta1, beta2, epsilon, step_size, root_correction2, decay;
} Adam;

/* What the instruction sets implement; `kernels_generic` and `kernels_avx2` are compiled from the same source. */
typedef struct Kernels {
  const char *name;
  /* C[m][n] (+)= A[m][k] * B[k][n]; A by its two strides; panel j of B starts at b + j * panel_stride; n % 16 == 0. */
  void (*gemm)(int m, int n, int k, const float *a, ptrdiff_t a_row, ptrdiff_t a_inner, const float *b,
               ptrdiff_t panel_stride, ptrdiff_t ldb, float *c, ptrdiff_t ldc, int accumulate);
  /* y = x / rms(x) * gain for each row; `scales[r]` is 1 / rms. */
  void (*norm)(int rows, int width, const float *x, ptrdiff_t ldx, const float *gain, float *y, ptrdiff_t ldy,
               float *scales);
  /* dx += the gradient through `norm`; dgain += likewise. */
  void (*norm_back)(int rows, int width, const float *x, ptrdiff_t ldx, const float *scales, const float *gain,
                    const float *dy, ptrdiff_t lddy, float *dx, ptrdiff_t lddx, float *dgain);
  /* y = x * sigmoid(1.702 x). */
  void (*gelu)(int rows, int width, const float *x, float *y, ptrdiff_t ld);
  /* dy becomes dx in place. */
  void (*gelu_back)(int rows, int width, const float *x, float *dy, ptrdiff_t ld);
  /* Rotates the query and key parts of one qkv row (queries also by 1 / sqrt(32)); `direction` -1 is the gradient. */
  void (*rotate)(float *qkv, int width, const float *cosines, const float *sines, int direction);
  /* Causal attention of one sequence: qkv rows -> out rows. `room` holds attention_room(n) floats. */
  void (*attend)(int n, int heads, const float *qkv, ptrdiff_t ld, float *out, ptrdiff_t ldo, float *room);
  /* Adds nothing: writes dqkv whole, from dout, recomputing the probabilities. */
  void (*attend_back)(int n, int heads, const float *qkv, ptrdiff_t ld, const float *out, const float *dout,
                      ptrdiff_t ldo, float *dqkv, float *room);
  /*
   * The heads of one query row over `length` cached keys (transposed: keys[i][position], leading dimension ldk) and
   * values; `stride` lies between the caches of two heads. `room` holds heads * ldk floats.
   */
  void (*attend_cached)(int length, int heads, const float *query, const float *keys, const float *values,
                        ptrdiff_t stride, ptrdiff_t ldk, float *out, float *room);
  /* e = exp(z * scale - max); returns the sum; `dot` = sum e * (z * scale - max). Width is a multiple of 8. */
  float (*distribution)(int width, const float *z, float scale, float *e, float *max, float *dot);
  /* a[i] += b[i]. */
  void (*add)(size_t count, float *a, const float *b);
  /* One AdamW update of a range; `decay` is learning rate * weight decay. */
  void (*adam)(size_t count, float *weights, float *m, float *v, const float *gradient, const Adam *options);
} Kernels;

extern const Kernels kernels_generic;
#if defined(__x86_64__)
extern const Kernels kernels_avx2;
#endif
const Kernels *choose_kernels(int force_generic);

typedef struct Shape {
  int layers, width, vocab, context;
  int heads, vocab_padded;
} Shape;

/* Offsets into the flat parameters: embedding, layers, final norm, output matrix [vocab][width]. */
typedef struct LayerAt {
  size_t norm1, qkv, out, norm2, up, down;
} LayerAt;
LayerAt layer_at(const Shape *shape, int layer);
size_t final_norm_at(const Shape *shape);
size_t head_at(const Shape *shape);
size_t parameter_count(const Shape *shape);

/* Weights as stored, and as panels for products with activations on the left. */
typedef struct Weights {
  float *flat;
  float *panels;
  uint64_t stamp; /* changes whenever the content does, so a cache built from it can be told stale */
} Weights;

/* Activations that backward needs, one set per layer; leading dimensions are padded. */
typedef struct LayerSaved {
  float *x, *h1, *qkv, *attended, *middle, *h2, *up, *activated, *scale1, *scale2;
} LayerSaved;

typedef struct Worker {
  struct Engine *engine;
  int index;
  float *gradient;
  LayerSaved *saved;
  float *x_final, *h_final, *scale_final, *picked, *logits;
  float *d_x, *d_h, *d_wide, *d_picked;
  float *room;
  int *row_token, *row_position, *target_row, *target_at;
  struct Slot *slots;
  int slot_count;
  float *keys, *values; /* [layer][head][slot] blocks */
  int *row_slot;
  int quota;
  int64_t rows_prefilled, rows_decoded, rows_shared;
} Worker;

typedef struct Job {
  enum { JOB_FREE, JOB_PENDING, JOB_RUNNING, JOB_DONE } state;
  int64_t id;
  uint64_t order;
  int snapshot, prompt_count, tokens_max, stop_count, count, is_stopped;
  int stop_ids[STOP_IDS_MAX];
  float temperature;
  uint64_t seed;
  int *prompt, *ids;
  float *logprobs;
} Job;

typedef struct Slot {
  Job *job;
  uint64_t stamp;    /* of the weights the cache was built with */
  uint64_t used;     /* clock of the last use: the oldest free slot is taken first */
  int *tokens;       /* prompt and sample so far */
  int filled, total; /* keys and values are held for tokens[0..filled); total are known */
  int wait_slot, wait_count;
} Slot;

typedef struct Team {
  int count;
  pthread_t threads[THREADS_MAX];
  pthread_mutex_t lock;
  pthread_cond_t go, done;
  uint64_t generation;
  int started, running, is_closing;
  void (*work)(void *context, int worker);
  void *context;
} Team;
int team_open(Team *team, int count);
void team_run(Team *team, void (*work)(void *context, int worker), void *context);
void team_close(Team *team);

typedef struct Config {
  Shape shape;
  int threads, slots, rows, snapshots, force_generic;
} Config;

typedef struct Engine {
  Config config;
  Shape shape;
  const Kernels *kernels;
  Team team;
  Weights live;
  float *panels_back; /* of the live weights, for gradients of activations */
  Weights *snapshots;
  float *moment1, *moment2;
  double *chunk_sums;
  float *cosines, *sines; /* [context][16] */
  Worker workers[THREADS_MAX];
  int64_t adam_step;
  uint64_t stamp;
  Job *jobs;
  int job_count;
  uint64_t order, clock;
  pthread_mutex_t queue_lock;
  void *memory;
  size_t bytes;
} Engine;

/* Bytes that `engine_open` will take. */
size_t engine_bytes(const Config *config);
/* NULL when memory or threads are refused by the system. */
Engine *engine_open(const Config *config);
void engine_close(Engine *engine);
void engine_initialize(Engine *engine, uint64_t seed);
/* Call after any change of the live weights. */
void engine_refresh(Engine *engine);
/* Copies the live weights; returns 0 when one of them is not finite. */
int engine_snapshot(Engine *engine, int index);

int padded(int width);
size_t attention_room(int n);
uint64_t mix64(uint64_t value);
/* Log-probability of a token from the parts `distribution` gives; the one place where it is computed. */
float token_logprob(float z, float scale, float max, float sum);
void pack_panels(float *target, const float *source, int inner, int columns, ptrdiff_t inner_stride,
                 ptrdiff_t column_stride);

/* Panels of one layer inside `Weights.panels` and `Engine.panels_back`. */
typedef struct LayerPanels {
  const float *qkv, *out, *up, *down;
} LayerPanels;
LayerPanels layer_panels(const Shape *shape, const float *panels, int layer);
const float *head_panels(const Shape *shape, const float *panels);

/* One call of forward or forward-backward. Sequences lie end to end; the plan says which worker takes which, in packs. */
typedef struct Batch {
  const int *tokens, *offsets; /* offsets: sequences + 1 */
  const unsigned char *mask;
  const float *coefficients;  /* NULL: forward only */
  const float *temperatures;  /* one for each sequence */
  const int *order, *pack_ends, *worker_ends;
  float *logprobs, *entropy;  /* entropy may be NULL */
  int weights;                /* -1: live, else a snapshot */
} Batch;
void engine_train(Engine *engine, const Batch *batch);

typedef struct AdamRequest {
  double learning_rate, beta1, beta2, epsilon, weight_decay, gradient_clip;
} AdamRequest;
/* Returns the norm before clipping; when it is not finite, nothing but the gradient is changed. */
double engine_optimize(Engine *engine, const AdamRequest *request);
void engine_discard(Engine *engine);

/* Sampling runs `steps` decode steps at most and leaves what is unfinished for the next call. */
void sampler_run(Engine *engine, int steps);
void sampler_cancel(Engine *engine, int64_t id);
Job *sampler_claim(Engine *engine);

/* Rows of training and sampling share these two pieces. */
void project_qkv(Engine *engine, const LayerSaved *saved, const LayerPanels *panels, const float *norm, int rows,
                 const int *positions);
void finish_layer(Engine *engine, const LayerSaved *saved, const LayerPanels *panels, const float *norm2, int rows,
                  float *x_next);

#endif
