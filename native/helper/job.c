/*
 * A job from its start to its exit frame. A job ends when its direct child ends: what the pipes hold at that moment is
 * read and sent, then the exit, and nobody waits for a grandchild that still holds a pipe. A deadline sends TERM, waits
 * the grace, then ends the whole tree, and the exit is sent only when no process of it is left.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 2000
#define TREE_GONE_US 2000000 /* a killed tree that is not gone by then is stuck in the kernel; the exit says what it can */

struct job *job_find(uint32_t id) {
  for (struct job *job = jobs; job != NULL; job = job->next)
    if (job->id == id && !job->is_finished) return job;
  return NULL;
}

struct stream *job_stream(struct job *job, uint16_t name, bool is_input) {
  for (int at = 0; at < job->stream_count; at++)
    if (job->streams[at].name == name && job->streams[at].is_input == is_input) return &job->streams[at];
  return NULL;
}

/* The child may not have joined its group yet, and without groups its process group is all there is to go by. */
void job_end_tree(struct job *job) {
  if (!job->is_reaped) {
    kill(job->pid, SIGKILL);
    if (job->leaf == NULL) kill(-job->pid, SIGKILL);
  }
  if (job->leaf != NULL) leaf_kill(job->leaf);
}

void job_over_limit(struct job *job) {
  if (!job->kills_at_limit || job->is_reaped || job->phase == KILLED) return;
  job->flags |= OUTPUT_LIMIT;
  job->phase = KILLED;
  job->phase_us = clock_us();
  job_end_tree(job);
}

static void free_job(struct job *job) {
  for (struct job **at = &jobs; *at != NULL; at = &(*at)->next)
    if (*at == job) {
      *at = job->next;
      break;
    }
  leaf_give(job->leaf);
  free(job->run.before);
  free(job);
}

enum oom_scope { OOM_NOWHERE, OOM_EXEC, OOM_SANDBOX };

static enum oom_scope oom_scope(const struct job *job) {
  if (job->leaf != NULL && job->leaf->memory_events >= 0)
    return read_counter(job->leaf->memory_events, "oom_kill") > job->leaf_oom_before ? OOM_EXEC : OOM_NOWHERE;
  return groups.oom_events >= 0 && oom_kills() > job->oom_before ? OOM_SANDBOX : OOM_NOWHERE;
}

/* The peak of the command's whole group, else of the largest process that it waited for. */
static uint64_t memory_peak(const struct job *job) {
  uint64_t peak = job->has_peak ? read_counter(job->leaf->memory_peak, NULL) : 0;
  return peak > 0 ? peak : (uint64_t)job->usage.ru_maxrss * 1024;
}

static void send_exit(struct job *job) {
  uint8_t payload[56] = {0};
  if (*job->error != 0) {
    payload[0] = 2;
    payload[2] = *job->error;
  } else if (WIFEXITED(job->status)) {
    payload[1] = (uint8_t)WEXITSTATUS(job->status);
  } else {
    payload[0] = 1;
    payload[1] = (uint8_t)WTERMSIG(job->status);
  }
  job->error = NULL;
  payload[3] = (uint8_t)oom_scope(job);
  if (payload[3] != OOM_NOWHERE || oom_kills() > job->oom_before) job->flags |= OOM_KILLED;
  struct stream *output = job_stream(job, 1, false), *error_output = job_stream(job, 2, false);
  const struct timeval *user = &job->usage.ru_utime, *system = &job->usage.ru_stime;
  uint64_t numbers[5] = {
      output == NULL ? 0 : output->dropped,
      error_output == NULL ? 0 : error_output->dropped,
      job->ended_us - job->started_us,
      (uint64_t)(user->tv_sec + system->tv_sec) * 1000000u + (uint64_t)(user->tv_usec + system->tv_usec),
      memory_peak(job),
  };
  uint32_t hits = (uint32_t)(leaf_limit_hits(job->leaf) - job->limit_before);
  uint32_t live = job->leaf == NULL ? 0 : (uint32_t)leaf_count(job->leaf);
  memcpy(payload + 4, &job->flags, 4);
  memcpy(payload + 8, numbers, sizeof numbers);
  memcpy(payload + 48, &hits, 4);
  memcpy(payload + 52, &live, 4);
  send_frame(job->id, FRAME_EXIT, 0, payload, sizeof payload);
}

static bool ends_tree(const struct job *job) { return job->flags != 0 || job->phase == KILLED || job->kills_descendants; }

static bool is_output(const struct stream *stream) { return !stream->is_input && !stream->is_report; }

/* After the direct child ended. Sends the exit, now or once the tree is gone and the last output has gone out. */
static void settle(struct job *job, uint64_t now) {
  if (ends_tree(job) && job->leaf != NULL && !leaf_is_empty(job->leaf)) {
    if (job->phase != KILLED) {
      job->phase = KILLED;
      job->phase_us = now;
    }
    job_end_tree(job);
    if (now - job->phase_us < TREE_GONE_US) return;
  }
  job->is_draining = true;
  bool is_sent = true;
  for (int at = 0; at < job->stream_count; at++)
    if (is_output(&job->streams[at])) is_sent = stream_finish(&job->streams[at]) && is_sent;
  if (!is_sent) return;
  send_exit(job);
  job->is_finished = true;
  for (int at = 0; at < job->stream_count; at++) {
    struct stream *stream = &job->streams[at];
    /* A terminal hangs up; a pipe is read on, so that a child that lives on does not die of it. */
    if (is_output(stream) && !stream->is_terminal) watch_stream(stream);
    else close_stream(stream);
  }
}

void job_reaped(pid_t pid, int status, const struct rusage *usage) {
  for (struct job *job = jobs; job != NULL; job = job->next) {
    if (job->pid != pid || job->is_reaped) continue;
    job->is_reaped = true;
    job->status = status;
    job->usage = *usage;
    job->ended_us = clock_us();
    settle(job, job->ended_us);
    return;
  }
}

void job_stopped(pid_t pid) {
  for (const struct job *job = jobs; job != NULL; job = job->next)
    if (job->pid == pid && !job->is_reaped && job->kind != JOB_COMMAND && job->kind != JOB_SHELL) kill(pid, SIGCONT);
}

void job_signal(uint32_t id, int signal) {
  struct job *job = job_find(id);
  if (job == NULL || job->is_reaped) return;
  if (signal == SIGKILL) job_end_tree(job);
  else if (kill(-job->pid, signal) != 0) kill(job->pid, signal); /* it has no group of its own yet */
}

/* Payload: u32 columns, u32 rows. */
void job_resize(uint32_t id, const uint8_t *payload, uint32_t bytes) {
  struct job *job = job_find(id);
  struct stream *output = job == NULL ? NULL : job_stream(job, 1, false);
  uint32_t size[2];
  if (output == NULL || !output->is_terminal || output->fd < 0 || bytes != sizeof size) return;
  memcpy(size, payload, sizeof size);
  terminal_resize(output->fd, (uint16_t)size[0], (uint16_t)size[1]);
}

void job_cancel(uint32_t id) {
  struct job *job = job_find(id);
  if (job == NULL) return;
  job->flags |= CANCELLED;
  job->phase = KILLED;
  job->phase_us = clock_us();
  job_end_tree(job);
}

static void expire(struct job *job, uint32_t flag, uint64_t now) {
  job->flags |= flag;
  job->phase = GRACE;
  job->phase_us = now;
  if (kill(-job->pid, SIGTERM) != 0) kill(job->pid, SIGTERM);
}

/* A command that waits for its reader is not silent. */
static bool lacks_credit(const struct job *job) {
  for (int at = 0; at < job->stream_count; at++) {
    const struct stream *stream = &job->streams[at];
    if (is_output(stream) && stream->fd >= 0 && stream->credit <= 0 && stream->sent < stream->cap) return true;
  }
  return false;
}

/* Moves one job on; returns when it wants to be asked again. */
static uint64_t tick(struct job *job, uint64_t now) {
  if (job->is_reaped) {
    settle(job, now);
    return job->is_finished || job->is_draining ? UINT64_MAX : now + TICK_US; /* credit wakes the loop by itself */
  }
  if (job->kind == JOB_SHELL && shell_tick(job, now)) return now + TICK_US;
  uint64_t idle_due = job->idle_ms == 0 || lacks_credit(job) ? UINT64_MAX : job->idle_us + (uint64_t)job->idle_ms * 1000;
  if (job->phase == RUNNING && now >= job->deadline_us) expire(job, TIMED_OUT, now);
  else if (job->phase == RUNNING && now >= idle_due) expire(job, IDLE_TIMED_OUT, now);
  uint64_t grace_due = job->phase_us + (uint64_t)job->grace_ms * 1000;
  if (job->phase == GRACE && now >= grace_due) {
    job->phase = KILLED;
    job->phase_us = now;
    job_end_tree(job);
  }
  if (job->phase == GRACE) return grace_due;
  if (job->phase == KILLED) { /* once more, for what was forked between the kill and the join */
    job_end_tree(job);
    return now + 50 * TICK_US;
  }
  return job->deadline_us < idle_due ? job->deadline_us : idle_due;
}

uint64_t jobs_tick(uint64_t now) {
  uint64_t due = UINT64_MAX;
  for (struct job *job = jobs, *next; job != NULL; job = next) {
    next = job->next;
    if (!job->is_finished) {
      uint64_t wanted = tick(job, now);
      if (wanted < due) due = wanted;
    }
    if (!job->is_finished) continue;
    /* A child that outlived the command may still write: its pipes are kept and emptied, or it would die of SIGPIPE. */
    bool is_open = false;
    for (int at = 0; at < job->stream_count; at++) is_open = is_open || job->streams[at].fd >= 0;
    if (!is_open) free_job(job);
  }
  return due;
}
