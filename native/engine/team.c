/* A fixed team of threads. The caller is worker 0; the others sleep between calls. No work is stolen or reordered. */
#include "engine.h"
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* Numbers below the normal range count as 0, on every worker alike: they would only slow the optimizer down. */
static void run_flushed(void (*work)(void *, int), void *context, int worker) {
#if defined(__SSE__)
  const unsigned int before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  work(context, worker);
  _mm_setcsr(before);
#else
  work(context, worker);
#endif
}

static void *member(void *argument) {
  Team *team = argument;
  pthread_mutex_lock(&team->lock);
  const int worker = ++team->started;
  pthread_cond_broadcast(&team->done);
  uint64_t seen = 0;
  for (;;) {
    while (team->generation == seen && !team->is_closing) pthread_cond_wait(&team->go, &team->lock);
    if (team->is_closing) break;
    seen = team->generation;
    pthread_mutex_unlock(&team->lock);
    run_flushed(team->work, team->context, worker);
    pthread_mutex_lock(&team->lock);
    if (--team->running == 0) pthread_cond_broadcast(&team->done);
  }
  pthread_mutex_unlock(&team->lock);
  return NULL;
}

/* Returns 0, or an error number. Threads that did start are joined when one does not. */
int team_open(Team *team, int count) {
  team->count = 1;
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->go, NULL);
  pthread_cond_init(&team->done, NULL);
  for (int i = 1; i < count; i++) {
    const int error = pthread_create(&team->threads[i], NULL, member, team);
    if (error != 0) {
      team_close(team);
      return error;
    }
    team->count++;
  }
  pthread_mutex_lock(&team->lock);
  while (team->started < team->count - 1) pthread_cond_wait(&team->done, &team->lock);
  pthread_mutex_unlock(&team->lock);
  return 0;
}

void team_run(Team *team, void (*work)(void *context, int worker), void *context) {
  if (team->count > 1) {
    pthread_mutex_lock(&team->lock);
    team->work = work;
    team->context = context;
    team->running = team->count - 1;
    team->generation++;
    pthread_cond_broadcast(&team->go);
    pthread_mutex_unlock(&team->lock);
  }
  run_flushed(work, context, 0);
  if (team->count > 1) {
    pthread_mutex_lock(&team->lock);
    while (team->running > 0) pthread_cond_wait(&team->done, &team->lock);
    pthread_mutex_unlock(&team->lock);
  }
}

void team_close(Team *team) {
  pthread_mutex_lock(&team->lock);
  team->is_closing = 1;
  pthread_cond_broadcast(&team->go);
  pthread_mutex_unlock(&team->lock);
  for (int i = 1; i < team->count; i++) pthread_join(team->threads[i], NULL);
}
