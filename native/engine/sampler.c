/*
 * Batched sampling with a KV cache. Each worker owns slots; a slot holds one running sample and is freed at its stop
 * token for the next request of the queue. Prompts and samples go through the same rows: a step feeds one token of
 * each decoding slot and as many prompt tokens as fit. A prompt that begins like what another slot holds takes over
 * those keys and values, so a group prefills its prompt once and a later turn does not prefill its history.
 */
#include <string.h>
#include "engine.h"

static int cache_length(const Shape *shape) { return (shape->context + 15) / 16 * 16; }

static size_t block_at(const Worker *worker, int layer, int head, int slot) {
  const Shape *shape = &worker->engine->shape;
  const size_t index = ((size_t)layer * (size_t)shape->heads + (size_t)head) * (size_t)worker->slot_count + (size_t)slot;
  return index * (size_t)HEAD * (size_t)cache_length(shape);
}

static void copy_cache(const Worker *worker, int from, int to, int count) {
  const Shape *shape = &worker->engine->shape;
  const int ldk = cache_length(shape);
  const size_t row = (size_t)count * sizeof(float);
  for (int layer = 0; layer < shape->layers; layer++)
    for (int head = 0; head < shape->heads; head++) {
      const size_t source = block_at(worker, layer, head, from), target = block_at(worker, layer, head, to);
      for (int i = 0; i < HEAD; i++) memcpy(worker->keys + target + i * ldk, worker->keys + source + i * ldk, row);
      memcpy(worker->values + target, worker->values + source, row * HEAD);
    }
}

/* Tokens that a prompt shares with a slot's, but for its last, whose logits must be computed. */
static int shared_prefix(const Slot *slot, const Job *job) {
  const int limit = slot->total < job->prompt_count - 1 ? slot->total : job->prompt_count - 1;
  int count = 0;
  while (count < limit && slot->tokens[count] == job->prompt[count]) count++;
  return count;
}

/* The slot, busy or free, from which most of the prompt can be taken over; -1 when none has any of it. */
static int best_source(const Worker *worker, const Job *job, uint64_t stamp, int *count) {
  int best = -1;
  *count = 0;
  for (int i = 0; i < worker->slot_count; i++) {
    const Slot *slot = &worker->slots[i];
    if (slot->stamp != stamp) continue;
    int shared = shared_prefix(slot, job);
    if (slot->job == NULL && shared > slot->filled) shared = slot->filled;
    if (shared > *count) best = i, *count = shared;
  }
  return best;
}

/* The free slot used longest ago, but not `except` while there is another. */
static int oldest_free(const Worker *worker, int except) {
  int oldest = -1;
  for (int i = 0; i < worker->slot_count; i++) {
    if (worker->slots[i].job != NULL || i == except) continue;
    if (oldest < 0 || worker->slots[i].used < worker->slots[oldest].used) oldest = i;
  }
  return oldest < 0 ? except : oldest;
}

static void start_job(Worker *worker, Job *job) {
  const uint64_t stamp = worker->engine->snapshots[job->snapshot].stamp;
  int shared;
  const int source = best_source(worker, job, stamp, &shared);
  const int source_is_free = source >= 0 && worker->slots[source].job == NULL;
  /* A free source is continued where it lies when nearly all of it is wanted: the next turn of the same episode. */
  const int in_place = source_is_free && shared + 1 >= worker->slots[source].filled;
  const int index = in_place ? source : oldest_free(worker, source_is_free ? source : -1);
  Slot *slot = &worker->slots[index];
  slot->filled = 0;
  slot->wait_slot = -1;
  if (index == source) {
    slot->filled = shared;
  } else if (source >= 0) {
    slot->wait_slot = source;
    slot->wait_count = shared;
  }
  slot->job = job;
  slot->stamp = stamp;
  slot->total = job->prompt_count;
  memcpy(slot->tokens, job->prompt, (size_t)job->prompt_count * sizeof(int));
  worker->rows_shared += shared;
}

static int active_count(const Worker *worker) {
  int count = 0;
  for (int i = 0; i < worker->slot_count; i++) count += worker->slots[i].job != NULL;
  return count;
}

/* Takes over what waiting slots wait for, as soon as their source holds it. Before any slot is given away. */
static void resolve_waits(Worker *worker) {
  for (int i = 0; i < worker->slot_count; i++) {
    Slot *slot = &worker->slots[i];
    if (slot->job == NULL || slot->wait_slot < 0) continue;
    const Slot *source = &worker->slots[slot->wait_slot];
    if (source->filled < slot->wait_count) continue;
    copy_cache(worker, slot->wait_slot, i, slot->wait_count);
    slot->filled = slot->wait_count;
    slot->wait_slot = -1;
  }
}

/* Takes requests in order of arrival, many under one lock, so that a group of equal prompts comes to one worker. */
static void admit(Worker *worker) {
  Engine *engine = worker->engine;
  int room = worker->quota - active_count(worker);
  if (room <= 0) return;
  pthread_mutex_lock(&engine->queue_lock);
  for (; room > 0; room--) {
    Job *next = NULL;
    for (int i = 0; i < engine->job_count; i++) {
      Job *job = &engine->jobs[i];
      if (job->state == JOB_PENDING && (next == NULL || job->order < next->order)) next = job;
    }
    if (next == NULL) break;
    next->state = JOB_RUNNING;
    start_job(worker, next);
    /* A free source could be given away to the next request: take its part now. */
    resolve_waits(worker);
  }
  pthread_mutex_unlock(&engine->queue_lock);
}

static int add_row(Worker *worker, int row, int index) {
  Slot *slot = &worker->slots[index];
  worker->row_slot[row] = index;
  worker->row_position[row] = slot->filled;
  worker->row_token[row] = slot->tokens[slot->filled++];
  return row + 1;
}

static int is_ready(const Slot *slot, uint64_t stamp) {
  return slot->job != NULL && slot->stamp == stamp && slot->wait_slot < 0;
}

/* Rows of one step under one snapshot: every decoding slot first, then prompts, as many tokens as fit. */
static int gather(Worker *worker, uint64_t stamp, int *targets) {
  const int limit = worker->engine->config.rows;
  int rows = 0;
  *targets = 0;
  for (int is_prompt = 0; is_prompt <= 1; is_prompt++)
    for (int i = 0; i < worker->slot_count && rows < limit; i++) {
      Slot *slot = &worker->slots[i];
      if (!is_ready(slot, stamp) || (slot->total - slot->filled > 1) != is_prompt || slot->filled == slot->total)
        continue;
      const int before = rows;
      while (rows < limit && slot->filled < slot->total) rows = add_row(worker, rows, i);
      *(is_prompt ? &worker->rows_prefilled : &worker->rows_decoded) += rows - before;
      if (slot->filled < slot->total) continue;
      worker->target_row[*targets] = rows - 1;
      worker->target_at[(*targets)++] = i;
    }
  return rows;
}

static void store_keys(Worker *worker, int layer, int row, const float *qkv) {
  const Shape *shape = &worker->engine->shape;
  const int ldk = cache_length(shape), position = worker->row_position[row];
  for (int head = 0; head < shape->heads; head++) {
    const size_t at = block_at(worker, layer, head, worker->row_slot[row]);
    const float *key = qkv + shape->width + head * HEAD, *value = key + shape->width;
    for (int i = 0; i < HEAD; i++) worker->keys[at + (size_t)(i * ldk + position)] = key[i];
    memcpy(worker->values + at + (size_t)position * HEAD, value, HEAD * sizeof(float));
  }
}

static void attend_rows(Worker *worker, int layer, int rows, const LayerSaved *saved) {
  const Shape *shape = &worker->engine->shape;
  const int ld = padded(shape->width), wide = padded(3 * shape->width);
  for (int row = 0; row < rows; row++) store_keys(worker, layer, row, saved->qkv + row * wide);
  const ptrdiff_t stride = (ptrdiff_t)(block_at(worker, 0, 1, 0) - block_at(worker, 0, 0, 0));
  for (int row = 0; row < rows; row++) {
    const size_t at = block_at(worker, layer, 0, worker->row_slot[row]);
    worker->engine->kernels->attend_cached(worker->row_position[row] + 1, shape->heads, saved->qkv + row * wide,
                                           worker->keys + at, worker->values + at, stride, cache_length(shape),
                                           saved->attended + row * ld, worker->room);
  }
}

/* Leaves the logits of the target rows. Activations are not kept: every layer uses the first one's place. */
static void run_rows(Worker *worker, const Weights *weights, int rows, int targets) {
  Engine *engine = worker->engine;
  const Shape *shape = &engine->shape;
  const Kernels *k = engine->kernels;
  const int d = shape->width, ld = padded(d);
  const LayerSaved *saved = &worker->saved[0];
  for (int row = 0; row < rows; row++)
    memcpy(saved->x + row * ld, weights->flat + (size_t)worker->row_token[row] * (size_t)d, (size_t)d * sizeof(float));
  for (int layer = 0; layer < shape->layers; layer++) {
    const LayerAt at = layer_at(shape, layer);
    const LayerPanels panels = layer_panels(shape, weights->panels, layer);
    project_qkv(engine, saved, &panels, weights->flat + at.norm1, rows, worker->row_position);
    attend_rows(worker, layer, rows, saved);
    finish_layer(engine, saved, &panels, weights->flat + at.norm2, rows, saved->x);
  }
  if (targets == 0) return;
  for (int i = 0; i < targets; i++)
    memcpy(worker->x_final + i * ld, saved->x + worker->target_row[i] * ld, (size_t)d * sizeof(float));
  k->norm(targets, d, worker->x_final, ld, weights->flat + final_norm_at(shape), worker->picked, ld,
          worker->scale_final);
  k->gemm(targets, shape->vocab_padded, d, worker->picked, ld, 1, head_panels(shape, weights->panels), d * PANEL, PANEL,
          worker->logits, padded(shape->vocab_padded), 0);
}

/* Draw number `count` of a seed, uniform in [0, 1): a pure function of both. */
static double draw(uint64_t seed, int count) {
  const uint64_t bits = mix64(mix64(seed + 0x9e3779b97f4a7c15ull) + (uint64_t)(count + 1) * 0xd1b54a32d192ed03ull);
  return (double)(bits >> 11) / 9007199254740992.0;
}

static int choose_token(const Shape *shape, const Job *job, const float *z, const float *e, float sum) {
  int chosen = 0;
  if (job->temperature == 0) {
    for (int i = 1; i < shape->vocab; i++) chosen = z[i] > z[chosen] ? i : chosen;
    return chosen;
  }
  const double target = draw(job->seed, job->count) * (double)sum;
  double passed = 0;
  for (int i = 0; i < shape->vocab; i++) {
    if (e[i] > 0) chosen = i;
    passed += (double)e[i];
    if (passed > target) break;
  }
  return chosen;
}

/* Appends one token to the sample of a slot; a finished sample frees the slot, whose cache stays for others. */
static void extend(Worker *worker, int index, float *z) {
  const Shape *shape = &worker->engine->shape;
  Slot *slot = &worker->slots[index];
  Job *job = slot->job;
  float *e = worker->room, max, dot;
  const float scale = job->temperature == 0 ? 1.0f : 1.0f / job->temperature;
  for (int i = shape->vocab; i < shape->vocab_padded; i++) z[i] = -1e4f;
  const float sum = worker->engine->kernels->distribution(shape->vocab_padded, z, scale, e, &max, &dot);
  const int token = choose_token(shape, job, z, e, sum);
  job->ids[job->count] = token;
  job->logprobs[job->count++] = token_logprob(z[token], scale, max, sum);
  for (int i = 0; i < job->stop_count; i++) job->is_stopped |= job->stop_ids[i] == token;
  if (slot->total < shape->context) slot->tokens[slot->total++] = token;
  if (!job->is_stopped && job->count < job->tokens_max) return;
  job->state = JOB_DONE;
  slot->job = NULL;
  slot->used = __atomic_add_fetch(&worker->engine->clock, 1, __ATOMIC_RELAXED);
}

static void step_worker(Worker *worker) {
  Engine *engine = worker->engine;
  const int ldz = padded(engine->shape.vocab_padded);
  for (int i = 0; i < engine->config.snapshots; i++) {
    int targets;
    const int rows = gather(worker, engine->snapshots[i].stamp, &targets);
    if (rows == 0) continue;
    run_rows(worker, &engine->snapshots[i], rows, targets);
    for (int target = 0; target < targets; target++)
      extend(worker, worker->target_at[target], worker->logits + target * ldz);
  }
}

typedef struct {
  Engine *engine;
  int steps;
} SampleCall;

static void sample_share(void *context, int index) {
  const SampleCall *call = context;
  Worker *worker = &call->engine->workers[index];
  for (int step = 0; step < call->steps; step++) {
    resolve_waits(worker);
    admit(worker);
    if (active_count(worker) == 0) return;
    step_worker(worker);
  }
}

void sampler_run(Engine *engine, int steps) {
  int waiting = 0;
  for (int i = 0; i < engine->job_count; i++)
    waiting += engine->jobs[i].state == JOB_PENDING || engine->jobs[i].state == JOB_RUNNING;
  const int share = (waiting + engine->team.count - 1) / engine->team.count;
  for (int i = 0; i < engine->team.count; i++) {
    Worker *worker = &engine->workers[i];
    worker->quota = share < worker->slot_count ? share : worker->slot_count;
  }
  SampleCall call = {engine, steps};
  team_run(&engine->team, sample_share, &call);
}

/* Between runs only. A slot that waits for the cancelled one prefills by itself. */
void sampler_cancel(Engine *engine, int64_t id) {
  for (int i = 0; i < engine->job_count; i++) {
    Job *job = &engine->jobs[i];
    if (job->state == JOB_FREE || job->id != id) continue;
    job->state = JOB_FREE;
    for (int w = 0; w < engine->team.count; w++)
      for (int s = 0; s < engine->workers[w].slot_count; s++) {
        Worker *worker = &engine->workers[w];
        if (worker->slots[s].job != job) continue;
        worker->slots[s].job = NULL;
        worker->slots[s].used = ++engine->clock;
        for (int other = 0; other < worker->slot_count; other++)
          if (worker->slots[other].wait_slot == s) worker->slots[other].wait_slot = -1;
      }
  }
}

/* A free job for the next request, or NULL while all are taken. The caller fills it and makes it pending. */
Job *sampler_claim(Engine *engine) {
  for (int i = 0; i < engine->job_count; i++)
    if (engine->jobs[i].state == JOB_FREE) {
      engine->jobs[i].order = ++engine->order;
      return &engine->jobs[i];
    }
  return NULL;
}
