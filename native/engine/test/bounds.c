/*
 * Trains and samples with awkward sizes under the address and undefined-behaviour sanitizers, with both builds of the
 * kernels: a vocabulary that fills no panel, a context that fills no block, sequences of 1 to all tokens, more requests
 * than slots, prompts shared, continued and cancelled. Exits 0 when nothing outside its own piece of memory was touched.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../engine.h"

enum { VOCAB = 37, CONTEXT = 75, SEQUENCES = 9 };

static uint64_t counter;
static int below(int bound) { return (int)(mix64(++counter) % (uint64_t)bound); }

static void train(Engine *engine) {
  static const int lengths[SEQUENCES] = {CONTEXT, 1, 2, 49, 50, 7, 13, CONTEXT, 33};
  int tokens[SEQUENCES * CONTEXT], offsets[SEQUENCES + 1] = {0}, order[SEQUENCES];
  unsigned char mask[SEQUENCES * CONTEXT];
  float coefficients[SEQUENCES * CONTEXT], logprobs[SEQUENCES * CONTEXT], entropy[SEQUENCES * CONTEXT];
  float temperatures[SEQUENCES];
  for (int i = 0; i < SEQUENCES; i++) {
    order[i] = i;
    temperatures[i] = 0.5f + (float)i / 8;
    offsets[i + 1] = offsets[i] + lengths[i];
    for (int at = offsets[i]; at < offsets[i + 1]; at++) {
      tokens[at] = below(VOCAB);
      mask[at] = at > offsets[i] && below(3) > 0;
      coefficients[at] = (float)below(5) - 2;
    }
  }
  const int pack_ends[] = {3, 5, SEQUENCES}, worker_ends[] = {1, 3};
  Batch batch = {tokens,    offsets,     mask,     coefficients, temperatures, order,
                 pack_ends, worker_ends, logprobs, entropy,      -1};
  engine_train(engine, &batch);
  const AdamRequest adam = {1e-2, 0.9, 0.95, 1e-8, 0.01, 1};
  if (!(engine_optimize(engine, &adam) > 0)) exit(2);
}

static int submit(Engine *engine, int id) {
  Job *job = sampler_claim(engine);
  if (job == NULL) return 0;
  job->id = id;
  job->snapshot = id % 2;
  job->prompt_count = id % 11 == 0 ? CONTEXT - 1 : 1 + id % 40;
  job->tokens_max = CONTEXT - job->prompt_count;
  job->temperature = id % 5 == 0 ? 0 : 0.8f;
  job->seed = (uint64_t)id;
  job->count = job->is_stopped = 0;
  job->stop_count = 1;
  job->stop_ids[0] = id % VOCAB;
  for (int i = 0; i < job->prompt_count; i++) job->prompt[i] = (i * 7 + id / 6) % VOCAB;
  job->state = JOB_PENDING;
  return 1;
}

static void sample(Engine *engine) {
  enum { WANTED = 90 };
  for (int next = 0, done = 0; done < WANTED;) {
    while (next < WANTED && submit(engine, next)) next++;
    sampler_run(engine, 3);
    if (done > 10 && next > 20) {
      const int id = next - 1;
      for (int i = 0; i < engine->job_count; i++)
        if (engine->jobs[i].id == id && engine->jobs[i].state != JOB_FREE) {
          sampler_cancel(engine, id);
          done++;
          break;
        }
    }
    for (int i = 0; i < engine->job_count; i++)
      if (engine->jobs[i].state == JOB_DONE) engine->jobs[i].state = JOB_FREE, done++;
  }
}

int main(void) {
  for (int generic = 0; generic <= 1; generic++) {
    Config config = {.shape = {3, 96, VOCAB, CONTEXT, 3, 48}, .threads = 2, .slots = 5, .rows = 150, .snapshots = 2};
    config.force_generic = generic;
    Engine *engine = engine_open(&config);
    if (engine == NULL) return 1;
    engine_initialize(engine, 5);
    for (int round = 0; round < 2; round++) {
      train(engine);
      if (!engine_snapshot(engine, round)) return 3;
    }
    sample(engine);
    engine_close(engine);
  }
  puts("ok");
  return 0;
}
