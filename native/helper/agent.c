/*
 * The agent's loop: frames from the channel, output of jobs, ended children, deadlines. It never blocks on a job, and
 * it stops reading the jobs' output while the channel is full, so its memory stays bounded whatever they print.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_HIGH 262144 /* above this the jobs' streams are not read */

struct job *jobs;
struct box_groups groups;
uint64_t processes_max;

static int channel_in, channel_out; /* one socket, or the two ends a container gives */
static char relay_mark; /* its address stands for the relay among the streams */
static int signal_fd, main_epoll, stream_epoll;
static uint8_t *out;
static size_t out_length, out_room, out_start;
static bool is_paused, wants_write, is_frozen;

static uint8_t in[FRAME_HEADER + PAYLOAD_MAX];
static size_t in_length;

static void set_events(int epoll, int operation, int fd, uint32_t events, void *data) {
  struct epoll_event event = {.events = events, .data.ptr = data};
  epoll_ctl(epoll, operation, fd, &event);
}

uint8_t *reserve_payload(void) {
  size_t need = out_length + FRAME_HEADER + PAYLOAD_MAX;
  if (out_start > 0 && out_start + need > out_room) {
    memmove(out, out + out_start, out_length);
    out_start = 0;
  }
  if (out_start + need > out_room) {
    size_t room = out_room * 2 > need ? out_room * 2 : need;
    uint8_t *grown = realloc(out, room);
    if (grown == NULL) _exit(1); /* the caller sees a lost sandbox, which is the truth */
    out = grown;
    out_room = room;
  }
  return out + out_start + out_length + FRAME_HEADER;
}

void commit_payload(uint32_t channel, uint16_t type, uint16_t flags, uint32_t bytes) {
  frame_header(out + out_start + out_length, bytes, channel, type, flags);
  out_length += FRAME_HEADER + bytes;
}

void send_frame(uint32_t channel, uint16_t type, uint16_t flags, const void *payload, uint32_t bytes) {
  uint8_t *to = reserve_payload();
  if (bytes > 0) memcpy(to, payload, bytes);
  commit_payload(channel, type, flags, bytes);
}

static void flush(void) {
  while (out_length > 0) {
    ssize_t sent = write(channel_out, out + out_start, out_length);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) _exit(0); /* the owner is gone */
    if (sent < 0) break;
    out_start += (size_t)sent;
    out_length -= (size_t)sent;
  }
  if (out_length == 0) {
    out_start = 0;
    if (out_room > 2 * (FRAME_HEADER + PAYLOAD_MAX)) {
      free(out); /* an idle sandbox keeps no large buffer */
      out = NULL;
      out_room = 0;
    }
  }
  if (wants_write != (out_length > 0)) {
    wants_write = out_length > 0;
    uint32_t reads = channel_in == channel_out ? EPOLLIN : 0;
    set_events(main_epoll, EPOLL_CTL_MOD, channel_out, reads | (wants_write ? EPOLLOUT : 0), &channel_out);
  }
  if (is_paused != (out_length > OUT_HIGH)) {
    is_paused = out_length > OUT_HIGH;
    set_events(main_epoll, is_paused ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, stream_epoll, EPOLLIN, &stream_epoll);
  }
}

void watch_stream(struct stream *stream) {
  if (stream->is_watched || stream->fd < 0) return;
  set_events(stream_epoll, EPOLL_CTL_ADD, stream->fd, stream->is_input ? EPOLLOUT : EPOLLIN, stream);
  stream->is_watched = true;
}

void watch_relay(int fd, bool is_watched) {
  set_events(stream_epoll, is_watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, EPOLLIN, &relay_mark);
}

/* Always before a close: a child between fork and exec may hold the same file open, and epoll would keep its entry. */
void unwatch_stream(struct stream *stream) {
  if (!stream->is_watched) return;
  set_events(stream_epoll, EPOLL_CTL_DEL, stream->fd, 0, NULL);
  stream->is_watched = false;
}

void close_stream(struct stream *stream) {
  if (stream->fd < 0) return;
  unwatch_stream(stream);
  /* A duplex stream is one descriptor under two names; the other one goes on. */
  for (int at = 0; at < stream->job->stream_count; at++) {
    struct stream *other = &stream->job->streams[at];
    if (other == stream || other->fd < 0 || other->name != stream->name) continue;
    if (stream->is_input) shutdown(stream->fd, SHUT_WR);
  }
  close(stream->fd);
  stream->fd = -1;
  for (struct chunk *chunk; (chunk = stream->first) != NULL;) {
    stream->first = chunk->next;
    free(chunk);
  }
}

/* Ends everything but the agent and keeps it so: a sandbox whose episode is over only gives out files. */
static void freeze(uint32_t channel) {
  is_frozen = true;
  relay_stop();
  uint64_t end = clock_us() + 5000000;
  int status;
  struct rusage usage;
  for (;;) {
    kill(-1, SIGKILL);
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid < 0 && errno == ECHILD) break;
    if (pid > 0) job_reaped(pid, status, &usage);
    else if (clock_us() > end) break;
    else usleep(500);
  }
  send_frame(channel, FRAME_REPLY, 0, NULL, 0);
}

static void reap(void) {
  int status;
  struct rusage usage;
  for (pid_t pid; (pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0;)
    if (WIFSTOPPED(status)) job_stopped(pid);
    else job_reaped(pid, status, &usage);
}

static void handle_request(const struct frame *frame) {
  static struct gathered request;
  enum gather_state state = request_gather(&request, frame);
  if (state == GATHER_MORE) return;
  uint8_t kind = request.length > 0 ? request.bytes[0] : 0;
  bool executes = kind == JOB_COMMAND || kind == JOB_SHELL;
  if (state == GATHER_TOO_LONG) job_refuse(frame->channel, TOO_LONG);
  else if (frame->type == FRAME_SHELL_RUN) shell_run(frame->channel, request.bytes, request.length);
  else if (is_frozen && executes) job_refuse(frame->channel, PROCESS_LIMIT);
  else job_start(frame->channel, request.bytes, request.length);
  request_reset(&request);
}

static void handle(const struct frame *frame) {
  const uint8_t *payload = frame->payload;
  uint32_t channel = frame->channel, bytes = frame->bytes;
  uint16_t type = frame->type, flags = frame->flags;
  switch (type) {
    case FRAME_EXEC:
    case FRAME_SHELL_RUN: return handle_request(frame);
    case FRAME_INPUT: return job_input(channel, flags, payload, bytes);
    case FRAME_SIGNAL: return job_signal(channel, flags);
    case FRAME_CANCEL: return job_cancel(channel);
    case FRAME_STATS: return send_stats(channel);
    case FRAME_FREEZE: return freeze(channel);
    case FRAME_RESIZE: return job_resize(channel, payload, bytes);
    case FRAME_OUTPUT_CREDIT: return stream_credit(channel, flags, payload, bytes);
    case FRAME_RELAY:
    case FRAME_RELAY_SEND:
    case FRAME_RELAY_CLOSE:
    case FRAME_RELAY_CREDIT: return relay_frame(channel, type, flags, payload, bytes);
    case FRAME_PING: return send_frame(channel, FRAME_REPLY, 0, NULL, 0);
    default: return; /* a newer owner's frame; it will miss the answer and say so */
  }
}

static void read_channel(void) {
  ssize_t got = read(channel_in, in + in_length, sizeof in - in_length);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) _exit(0); /* PID 1 ends, and with it the sandbox */
  in_length += (size_t)got;
  size_t at = 0;
  struct frame frame;
  enum frame_state state;
  while ((state = frame_take(in + at, in_length - at, &frame)) == FRAME_WHOLE) {
    handle(&frame);
    at += FRAME_HEADER + frame.bytes;
  }
  if (state == FRAME_BAD) _exit(1);
  memmove(in, in + at, in_length - at);
  in_length -= at;
}

static void read_streams(void) {
  struct epoll_event events[32];
  int count = epoll_wait(stream_epoll, events, 32, 0);
  for (int at = 0; at < count; at++)
    if (events[at].data.ptr == &relay_mark) relay_ready();
    else stream_ready(events[at].data.ptr);
}

static void watch_channel(void) {
  fcntl(channel_in, F_SETFL, fcntl(channel_in, F_GETFL) | O_NONBLOCK);
  fcntl(channel_out, F_SETFL, fcntl(channel_out, F_GETFL) | O_NONBLOCK);
  if (channel_in != channel_out) set_events(main_epoll, EPOLL_CTL_ADD, channel_in, EPOLLIN, &channel_in);
  set_events(main_epoll, EPOLL_CTL_ADD, channel_out, channel_in == channel_out ? EPOLLIN : 0, &channel_out);
}

void agent_main(int from, int to, const struct box_groups *given, const struct box_request *box) {
  processes_max = box->processes_max;
  watchdog_open(box->memory_bytes);
  groups = *given;
  channel_in = from;
  channel_out = to;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, NULL);
  /* As PID 1 the agent is spared their default, and what it starts needs no reset. */
  static const int plain[] = {SIGPIPE, SIGINT, SIGHUP};
  for (size_t at = 0; at < sizeof plain / sizeof *plain; at++) signal(plain[at], SIG_DFL);
  signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  main_epoll = epoll_create1(EPOLL_CLOEXEC);
  stream_epoll = epoll_create1(EPOLL_CLOEXEC);
  watch_channel();
  set_events(main_epoll, EPOLL_CTL_ADD, signal_fd, EPOLLIN, &signal_fd);
  set_events(main_epoll, EPOLL_CTL_ADD, stream_epoll, EPOLLIN, &stream_epoll);
  send_frame(0, FRAME_READY, 0, NULL, 0);
  for (;;) {
    uint64_t now = clock_us(), due = jobs_tick(now), look = watchdog_tick(now);
    if (look < due) due = look;
    flush();
    int wait_ms = due == UINT64_MAX ? -1 : due <= now ? 0 : (int)((due - now + 999) / 1000);
    struct epoll_event events[4];
    int count = epoll_wait(main_epoll, events, 4, wait_ms);
    for (int at = 0; at < count; at++) {
      void *source = events[at].data.ptr;
      bool from_out = source == &channel_out;
      if (source == &signal_fd) {
        struct signalfd_siginfo info;
        while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {}
        reap();
      } else if (source == &stream_epoll) {
        read_streams();
      } else if (from_out && !(events[at].events & EPOLLIN)) {
        if (events[at].events & (EPOLLHUP | EPOLLERR)) _exit(0); /* nobody reads the answers any more */
      } else {
        read_channel();
      }
    }
  }
}
