/*
 * A kept shell: one bash that reads its script from a pipe. Each run is one line of that script which evaluates the
 * command and then reports on a descriptor of its own, with a token made for this run. Everything the shell runs has
 * that descriptor closed, and a command that finds it anyway can only end its own run early.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX 4096
#define GIVE_UP_US 300000 /* after its children are killed, the shell has this long to report before it is ended too */

static pid_t pids[KEPT_MAX];

/* Payload: u32 timeout, u32 grace, u64 cap, 16 characters of token, then the script line. */
void shell_run(uint32_t id, const uint8_t *payload, size_t bytes) {
  struct job *job = job_find(id);
  struct stream *input = job == NULL ? NULL : job_stream(job, 0, true);
  struct stream *output = job == NULL ? NULL : job_stream(job, 1, false);
  uint32_t timeout_ms;
  if (input == NULL || output == NULL || job->is_reaped || bytes < 32) return; /* its exit frame is on the way */
  memcpy(&timeout_ms, payload, 4);
  memcpy(&job->grace_ms, payload + 4, 4);
  memcpy(&output->cap, payload + 8, 8);
  output->sent = output->dropped = 0;
  job->run.is_active = true;
  memcpy(job->run.token, payload + 16, 16);
  job->started_us = clock_us();
  job->deadline_us = job->started_us + (uint64_t)timeout_ms * 1000;
  job->oom_before = oom_kills();
  free(job->run.before);
  job->run.before_count = job->leaf == NULL ? 0 : leaf_pids(job->leaf, pids, KEPT_MAX);
  job->run.before = malloc((job->run.before_count + 1) * sizeof(pid_t));
  if (job->run.before == NULL) job->run.before_count = 0;
  else memcpy(job->run.before, pids, job->run.before_count * sizeof(pid_t));
  job_push(input, payload + 32, (uint32_t)(bytes - 32));
}

static void finish_run(struct job *job, uint32_t code) {
  struct stream *output = job_stream(job, 1, false);
  stream_drain(output); /* what the command wrote is in the pipe by the time its end is reported */
  if (oom_kills() > job->oom_before) job->flags |= OOM_KILLED;
  uint8_t payload[24];
  uint64_t duration = clock_us() - job->started_us;
  memcpy(payload, &code, 4);
  memcpy(payload + 4, &job->flags, 4);
  memcpy(payload + 8, &output->dropped, 8);
  memcpy(payload + 16, &duration, 8);
  send_frame(job->id, FRAME_SHELL_DONE, 0, payload, sizeof payload);
  job->run.is_active = false;
  job->flags = 0;
  job->phase = RUNNING;
  job->deadline_us = UINT64_MAX;
  output->cap = BETWEEN_RUNS_MAX;
  output->sent = output->dropped = 0;
}

/* A report is "<token> <code>\n"; any other token is of a run that is over, or a forgery, and is thrown away. */
void shell_report(struct job *job) {
  struct stream *stream = NULL;
  for (int at = 0; at < job->stream_count; at++)
    if (job->streams[at].is_report) stream = &job->streams[at];
  if (stream == NULL || stream->fd < 0) return;
  struct shell_run *run = &job->run;
  ssize_t got = read(stream->fd, run->report + run->report_bytes, sizeof run->report - 1 - run->report_bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close_stream(stream);
  run->report_bytes += (size_t)got;
  run->report[run->report_bytes] = 0;
  for (char *line_end; (line_end = strchr(run->report, '\n')) != NULL;) {
    bool is_ours = run->is_active && strncmp(run->report, run->token, 16) == 0 && run->report[16] == ' ';
    uint32_t code = is_ours ? (uint32_t)strtoul(run->report + 17, NULL, 10) & 255 : 0;
    run->report_bytes -= (size_t)(line_end + 1 - run->report);
    memmove(run->report, line_end + 1, run->report_bytes + 1);
    if (is_ours) finish_run(job, code);
  }
  if (run->report_bytes == sizeof run->report - 1) run->report_bytes = 0;
}

static bool is_spared(const struct job *job, pid_t pid) {
  if (pid == job->pid) return true;
  for (size_t at = 0; at < job->run.before_count; at++)
    if (job->run.before[at] == pid) return true;
  return false;
}

static void signal_new(const struct job *job, int signal) {
  size_t count = job->leaf == NULL ? 0 : leaf_pids(job->leaf, pids, KEPT_MAX);
  for (size_t at = 0; at < count; at++)
    if (pids[at] > 1 && !is_spared(job, pids[at])) kill(pids[at], signal);
}

/* Ends a run that is over its time: its processes first, and the shell itself only if it still does not report. */
bool shell_tick(struct job *job, uint64_t now) {
  if (!job->run.is_active || job->phase == KILLED) return false;
  if (job->phase == RUNNING) {
    if (now < job->deadline_us) return false;
    job->flags |= TIMED_OUT;
    job->phase = GRACE;
    job->phase_us = now;
    job->run.killed_us = now + (uint64_t)job->grace_ms * 1000;
    signal_new(job, SIGTERM);
  }
  if (now < job->run.killed_us) return true;
  signal_new(job, SIGKILL);
  if (now < job->run.killed_us + GIVE_UP_US) return true;
  job->phase = KILLED;
  job->phase_us = now;
  job_end_tree(job);
  return false;
}
