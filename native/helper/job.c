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
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 2000
#define TREE_GONE_US 2000000 /* a killed tree that is not gone by then is stuck in the kernel; the exit says what it can */

static uint8_t scratch[PAYLOAD_MAX]; /* where dropped bytes go */

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

static void send_credit(const struct stream *stream, uint32_t bytes) {
  send_frame(stream->job->id, FRAME_CREDIT, stream->name, &bytes, 4);
}

/* Queues bytes for the command; no bytes mean end of file. */
void job_push(struct stream *stream, const void *bytes, uint32_t length) {
  if (stream->fd < 0) {
    if (length > 0 && !stream->job->is_finished) send_credit(stream, length); /* nobody reads it any more */
    return;
  }
  if (length == 0) {
    stream->input_ended = true;
    if (stream->first == NULL) close_stream(stream);
    return;
  }
  struct chunk *chunk = malloc(sizeof *chunk + length);
  if (chunk == NULL) return close_stream(stream);
  *chunk = (struct chunk){.bytes = length};
  memcpy(chunk->data, bytes, length);
  if (stream->first == NULL) stream->first = chunk;
  else stream->last->next = chunk;
  stream->last = chunk;
  watch_stream(stream);
}

void job_input(uint32_t id, uint16_t name, const uint8_t *bytes, uint32_t length) {
  struct job *job = job_find(id);
  struct stream *stream = job == NULL ? NULL : job_stream(job, name, true);
  if (stream != NULL) job_push(stream, bytes, length);
}

static void write_input(struct stream *stream) {
  while (stream->first != NULL) {
    struct chunk *chunk = stream->first;
    ssize_t written = write(stream->fd, chunk->data + chunk->at, chunk->bytes - chunk->at);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written < 0) { /* the command closed it; the sender must not wait for credit that never comes */
      uint32_t rest = 0;
      for (struct chunk *each = chunk; each != NULL; each = each->next) rest += each->bytes - each->at;
      close_stream(stream);
      return send_credit(stream, rest);
    }
    chunk->at += (uint32_t)written;
    send_credit(stream, (uint32_t)written);
    if (chunk->at < chunk->bytes) return;
    stream->first = chunk->next;
    free(chunk);
  }
  if (stream->input_ended) return close_stream(stream);
  unwatch_stream(stream); /* an idle writable pipe would wake the loop for ever */
}

/* The child may not have joined its group yet, and without groups its process group is all there is to go by. */
void job_end_tree(struct job *job) {
  if (!job->is_reaped) {
    kill(job->pid, SIGKILL);
    if (job->leaf == NULL) kill(-job->pid, SIGKILL);
  }
  if (job->leaf != NULL) leaf_kill(job->leaf);
}

static void over_limit(struct job *job) {
  if (!job->kills_at_limit || job->is_reaped || job->phase == KILLED) return;
  job->flags |= OUTPUT_LIMIT;
  job->phase = KILLED;
  job->phase_us = clock_us();
  job_end_tree(job);
}

/* Reads at most `most` bytes once; false at the end of the stream or when nothing is there. */
static bool read_output(struct stream *stream, size_t most, size_t *got_bytes) {
  struct job *job = stream->job;
  bool keeps = !job->is_finished && stream->sent < stream->cap;
  uint8_t *to = keeps ? reserve_payload() : scratch;
  size_t want = most < PAYLOAD_MAX ? most : PAYLOAD_MAX;
  ssize_t got = read(stream->fd, to, want);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) return close_stream(stream), false;
  *got_bytes = (size_t)got;
  if (job->is_finished) return true;
  job->idle_us = clock_us();
  uint64_t room = stream->cap - stream->sent;
  uint32_t kept = !keeps ? 0 : (uint64_t)got < room ? (uint32_t)got : (uint32_t)room;
  if (kept > 0) commit_payload(job->id, FRAME_OUTPUT, stream->name, kept);
  stream->sent += kept;
  stream->dropped += (uint64_t)got - kept;
  if (stream->dropped > 0) over_limit(job);
  return true;
}

/* Everything the pipe holds now, and not what a grandchild may write later. */
void stream_drain(struct stream *stream) {
  int held = 0;
  if (stream->fd < 0 || ioctl(stream->fd, FIONREAD, &held) != 0) return;
  for (size_t left = (size_t)held, got = 0; left > 0 && read_output(stream, left, &got);) left -= got;
}

void stream_ready(struct stream *stream) {
  size_t got;
  if (stream->fd < 0) return;
  if (stream->is_input) return write_input(stream);
  if (stream->is_report) return shell_report(stream->job);
  read_output(stream, PAYLOAD_MAX, &got);
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

static void send_exit(struct job *job) {
  uint8_t payload[56] = {0};
  uint8_t error = 0;
  if (read(job->error_fd, &error, 1) == 1) {
    payload[0] = 2;
    payload[2] = error;
  } else if (WIFEXITED(job->status)) {
    payload[1] = (uint8_t)WEXITSTATUS(job->status);
  } else {
    payload[0] = 1;
    payload[1] = (uint8_t)WTERMSIG(job->status);
  }
  close(job->error_fd);
  if (read_counter(groups.oom_events, "oom_kill") > job->oom_before) job->flags |= OOM_KILLED;
  struct stream *output = job_stream(job, 1, false), *error_output = job_stream(job, 2, false);
  const struct timeval *user = &job->usage.ru_utime, *system = &job->usage.ru_stime;
  uint64_t numbers[5] = {
      output == NULL ? 0 : output->dropped,
      error_output == NULL ? 0 : error_output->dropped,
      clock_us() - job->started_us,
      (uint64_t)(user->tv_sec + system->tv_sec) * 1000000u + (uint64_t)(user->tv_usec + system->tv_usec),
      (uint64_t)job->usage.ru_maxrss * 1024,
  };
  uint32_t hits = (uint32_t)(leaf_limit_hits(job->leaf) - job->limit_before);
  memcpy(payload + 4, &job->flags, 4);
  memcpy(payload + 8, numbers, sizeof numbers);
  memcpy(payload + 48, &hits, 4);
  send_frame(job->id, FRAME_EXIT, 0, payload, sizeof payload);
}

static bool ends_tree(const struct job *job) { return job->flags != 0 || job->phase == KILLED || job->kills_descendants; }

/* After the direct child ended. Sends the exit, now or once the tree is gone. */
static void settle(struct job *job, uint64_t now) {
  if (ends_tree(job) && job->leaf != NULL && !leaf_is_empty(job->leaf)) {
    if (job->phase != KILLED) {
      job->phase = KILLED;
      job->phase_us = now;
    }
    job_end_tree(job);
    if (now - job->phase_us < TREE_GONE_US) return;
  }
  for (int at = 0; at < job->stream_count; at++)
    if (!job->streams[at].is_input && !job->streams[at].is_report) stream_drain(&job->streams[at]);
  send_exit(job);
  job->is_finished = true;
  for (int at = 0; at < job->stream_count; at++)
    if (job->streams[at].is_input || job->streams[at].is_report) close_stream(&job->streams[at]);
}

void job_reaped(pid_t pid, int status, const struct rusage *usage) {
  for (struct job *job = jobs; job != NULL; job = job->next) {
    if (job->pid != pid || job->is_reaped) continue;
    job->is_reaped = true;
    job->status = status;
    job->usage = *usage;
    settle(job, clock_us());
    return;
  }
}

void job_signal(uint32_t id, int signal) {
  struct job *job = job_find(id);
  if (job == NULL || job->is_reaped) return;
  if (signal == SIGKILL) job_end_tree(job);
  else kill(-job->pid, signal);
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
  kill(-job->pid, SIGTERM);
}

/* Moves one job on; returns when it wants to be asked again. */
static uint64_t tick(struct job *job, uint64_t now) {
  if (job->is_reaped) {
    settle(job, now);
    return job->is_finished ? UINT64_MAX : now + TICK_US;
  }
  if (job->kind == JOB_SHELL && shell_tick(job, now)) return now + TICK_US;
  uint64_t idle_due = job->idle_ms == 0 ? UINT64_MAX : job->idle_us + (uint64_t)job->idle_ms * 1000;
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
