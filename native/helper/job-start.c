/*
 * Starts a job on the agent's side: opens its streams, gives it a group, starts the child and watches what it writes.
 * A child that cannot start says why in a slot of its own.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPORT_FD 201 /* of a kept shell; closed for everything the shell runs */
#define SLOTS 4096    /* commands under way at once */

void job_refuse(uint32_t id, enum start_error error) {
  uint8_t payload[56] = {0};
  payload[0] = 2;
  payload[2] = (uint8_t)error;
  send_frame(id, FRAME_EXIT, 0, payload, sizeof payload);
}

/* A byte of shared memory, so that it is told in a fork as well; NULL when all are taken. */
static volatile uint8_t *free_slot(void) {
  static volatile uint8_t *slots;
  static uint8_t is_taken[SLOTS];
  static unsigned next;
  if (slots == NULL) {
    void *made = mmap(NULL, SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return NULL;
    slots = made;
  }
  memset(is_taken, 0, sizeof is_taken);
  for (const struct job *job = jobs; job != NULL; job = job->next)
    if (job->error != NULL) is_taken[job->error - slots] = 1;
  for (unsigned tries = 0; tries < SLOTS; tries++) {
    unsigned at = next++ % SLOTS;
    if (is_taken[at]) continue;
    slots[at] = 0;
    return &slots[at];
  }
  return NULL;
}

static struct stream *add_stream(struct job *job, int fd, uint16_t name, bool is_input, uint64_t cap) {
  struct stream *stream = &job->streams[job->stream_count++];
  *stream = (struct stream){.job = job, .fd = fd, .name = name, .is_input = is_input, .cap = cap, .credit = OUTPUT_WINDOW};
  return stream;
}

/* One pipe between the job and the agent; `is_input` is seen from the command. */
static bool open_pipe(struct job *job, uint16_t name, bool is_input, uint64_t cap, struct end *end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  int ours = is_input ? ends[1] : ends[0];
  fcntl(ours, F_SETFL, O_NONBLOCK);
  *end = (struct end){.fd = is_input ? ends[0] : ends[1], .target = name};
  add_stream(job, ours, name, is_input, cap);
  /* The command may open it again by /dev/fd, as its own user. */
  return (job->uid == 0 && job->gid == 0) || fchown(end->fd, job->uid, job->gid) == 0;
}

/* Both ways, or, as the command may read what it only should write, end of file for what it reads. */
static bool open_duplex(struct job *job, uint16_t name, bool has_input, struct end *end) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *end = (struct end){.fd = ends[1], .target = name};
  add_stream(job, ends[0], name, false, UINT64_MAX);
  if (!has_input) return shutdown(ends[0], SHUT_WR) == 0;
  int copy = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
  add_stream(job, copy, name, true, 0);
  return copy >= 0;
}

static bool open_terminal(struct job *job, const struct exec_request *request, struct end *ends, int *count) {
  int command_side = -1, ours = terminal_open(request, &command_side);
  if (ours < 0) return false;
  for (int target = 0; target <= 2; target++)
    ends[(*count)++] = (struct end){.fd = command_side, .target = target, .is_copy = target > 0};
  add_stream(job, ours, 1, false, request->cap)->is_terminal = true;
  int copy = fcntl(ours, F_DUPFD_CLOEXEC, 0);
  struct stream *input = add_stream(job, copy, 0, true, 0);
  input->is_terminal = true;
  if (copy >= 0 && !request->has_input) job_push(input, NULL, 0);
  return copy >= 0;
}

static bool open_streams(struct job *job, const struct exec_request *request, struct end *ends, int *count) {
  bool ok = true;
  if (request->columns > 0 && request->kind == JOB_COMMAND) {
    ok = open_terminal(job, request, ends, count);
  } else {
    if (request->has_input) ok = open_pipe(job, 0, true, 0, &ends[(*count)++]);
    ok = ok && open_pipe(job, 1, false, request->cap, &ends[(*count)++]);
    if (ok && request->kind == JOB_SHELL) {
      /* One pipe under two numbers keeps standard output and error in the order they were written. */
      ends[*count] = (struct end){.fd = ends[*count - 1].fd, .target = 2, .is_copy = true};
      (*count)++;
      ok = open_pipe(job, REPORT_FD, false, UINT64_MAX, &ends[(*count)++]);
      if (ok) job->streams[job->stream_count - 1].is_report = true;
      return ok;
    }
    ok = ok && open_pipe(job, 2, false, request->cap, &ends[(*count)++]);
  }
  for (uint32_t at = 0; ok && at < request->pipe_count; at++) {
    uint16_t name = (uint16_t)request->pipes[at].fd;
    uint32_t ways = request->pipes[at].ways;
    if ((ways & 2) != 0) ok = open_duplex(job, name, (ways & 1) != 0, &ends[(*count)++]);
    else ok = open_pipe(job, name, true, 0, &ends[(*count)++]);
  }
  return ok;
}

static void close_ends(const struct end *ends, int count) {
  for (int at = 0; at < count; at++)
    if (!ends[at].is_copy && ends[at].fd >= 0) close(ends[at].fd);
}

static void abandon(struct job *job, const struct end *ends, int count) {
  close_ends(ends, count);
  for (int at = 0; at < job->stream_count; at++) close_stream(&job->streams[at]);
  leaf_give(job->leaf);
  free(job);
}

static bool is_any_running(void) {
  for (const struct job *job = jobs; job != NULL; job = job->next)
    if (!job->is_reaped) return true;
  return false;
}

static void read_counters_before(struct job *job) {
  job->oom_before = oom_kills();
  job->limit_before = leaf_limit_hits(job->leaf);
  if (job->leaf == NULL) return;
  job->leaf_oom_before = read_counter(job->leaf->memory_events, "oom_kill");
  job->has_peak = leaf_reset_peak(job->leaf);
}

static void start(struct job *job, const struct exec_request *request, uint64_t live) {
  struct end ends[STREAMS_MAX + 1];
  struct start given = {.job = job, .request = request, .ends = ends};
  job->leaf = leaf_take();
  read_counters_before(job);
  /* Without its group a command could escape its limits or its end, so it does not start. */
  bool ok = (job->leaf != NULL || groups.leaf_root < 0) && job->error != NULL &&
            open_streams(job, request, ends, &given.count);
  job->pid = ok ? child_start(&given, live == 0 && !is_any_running()) : -1;
  if (job->pid < 0) {
    uint32_t id = job->id;
    abandon(job, ends, given.count);
    return job_refuse(id, PROCESS_LIMIT);
  }
  close_ends(ends, given.count);
  job->deadline_us = request->timeout_ms == 0 ? UINT64_MAX : job->started_us + (uint64_t)request->timeout_ms * 1000;
  job->idle_us = job->started_us;
  for (int at = 0; at < job->stream_count; at++)
    if (!job->streams[at].is_input) watch_stream(&job->streams[at]);
  job->next = jobs;
  jobs = job;
}

void job_start(uint32_t id, uint8_t *payload, size_t bytes) {
  struct exec_request request;
  bool ok = request_decode(payload, bytes, &request);
  /* Moving into a full group is allowed by the kernel, so the limit is asked for here. */
  uint64_t live = groups.pids_now >= 0 ? read_counter(groups.pids_now, NULL) : 1;
  bool executes = request.kind == JOB_COMMAND || request.kind == JOB_SHELL;
  if (groups.counts_agent && live > 0) live--;
  bool is_full = executes && groups.pids_now >= 0 && live >= processes_max;
  struct job *job = ok && !is_full ? calloc(1, sizeof *job) : NULL;
  if (job == NULL) {
    request_free(&request);
    return job_refuse(id, ok ? PROCESS_LIMIT : NOT_FOUND);
  }
  *job = (struct job){.id = id, .uid = request.uid, .gid = request.gid, .kind = request.kind,
                      .kills_at_limit = request.kills_at_limit, .kills_descendants = request.kills_descendants,
                      .grace_ms = request.grace_ms, .idle_ms = request.idle_ms, .started_us = clock_us(),
                      .error = free_slot()};
  start(job, &request, live);
  request_free(&request);
}
