/*
 * The bytes of a job: input that waits for the command to read it, output that is read only as far as the other side has
 * room for it. A command whose reader is slow blocks in its own pipe, and nothing else does. What is beyond a stream's
 * cap is counted and dropped here and needs no room.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define END_OF_INPUT 4             /* what a terminal takes for it at the beginning of a line */
#define TERMINAL_LAST_MAX 131072   /* more than a terminal can hold */
#define CREDIT_PORTION 65536       /* a quarter of the sender's window: shorter inputs cost no frame of credit */

static uint8_t scratch[PAYLOAD_MAX]; /* where dropped bytes go */

static void send_credit(const struct stream *stream, uint32_t bytes) {
  send_frame(stream->job->id, FRAME_CREDIT, stream->name, &bytes, 4);
}

static void owe_credit(struct stream *stream, uint32_t bytes) {
  stream->owed += bytes;
  if (stream->owed < CREDIT_PORTION) return;
  send_credit(stream, stream->owed);
  stream->owed = 0;
}

static bool queue(struct stream *stream, const void *bytes, uint32_t length) {
  struct chunk *chunk = malloc(sizeof *chunk + length);
  if (chunk == NULL) return false;
  *chunk = (struct chunk){.bytes = length};
  memcpy(chunk->data, bytes, length);
  if (stream->first == NULL) stream->first = chunk;
  else stream->last->next = chunk;
  stream->last = chunk;
  watch_stream(stream);
  return true;
}

/* A terminal has no end; in the middle of a line its sign must be given twice. */
static void end_input(struct stream *stream) {
  static const uint8_t signs[2] = {END_OF_INPUT, END_OF_INPUT};
  if (stream->input_ended) return;
  stream->input_ended = true;
  bool is_line_open = stream->last_byte != 0 && stream->last_byte != '\n';
  if (stream->is_terminal) queue(stream, signs, is_line_open ? 2 : 1);
  else if (stream->first == NULL) close_stream(stream);
}

/* Queues bytes for the command; no bytes mean end of file. */
void job_push(struct stream *stream, const void *bytes, uint32_t length) {
  if (stream->fd < 0 || stream->input_ended) {
    if (length > 0 && !stream->job->is_finished) send_credit(stream, length); /* nobody reads it any more */
    return;
  }
  if (length == 0) return end_input(stream);
  stream->last_byte = ((const uint8_t *)bytes)[length - 1];
  /* A pipe with room takes a short input at once, which spares a turn of the loop. */
  ssize_t written = stream->first == NULL ? write(stream->fd, bytes, length) : 0;
  uint32_t taken = written > 0 ? (uint32_t)written : 0;
  if (taken > 0) owe_credit(stream, taken);
  if (taken < length && !queue(stream, (const uint8_t *)bytes + taken, length - taken)) close_stream(stream);
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
    owe_credit(stream, (uint32_t)written);
    if (chunk->at < chunk->bytes) return;
    stream->first = chunk->next;
    free(chunk);
  }
  if (stream->input_ended && !stream->is_terminal) return close_stream(stream);
  unwatch_stream(stream); /* an idle writable pipe would wake the loop for ever */
}

/* Reads at most `most` bytes once; false at the end of the stream, or when nothing is there. */
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
  stream->credit -= kept;
  stream->dropped += (uint64_t)got - kept;
  if (stream->dropped > 0) job_over_limit(job);
  return true;
}

/* How much may be read now; what is only dropped needs no credit. */
static size_t room_of(const struct stream *stream) {
  if (stream->job->is_finished || stream->sent >= stream->cap) return PAYLOAD_MAX;
  return stream->credit <= 0 ? 0 : stream->credit < PAYLOAD_MAX ? (size_t)stream->credit : PAYLOAD_MAX;
}

void stream_credit(uint32_t id, uint16_t name, const uint8_t *bytes, uint32_t length) {
  struct job *job = job_find(id);
  struct stream *stream = job == NULL ? NULL : job_stream(job, name, false);
  uint32_t taken;
  if (stream == NULL || length != sizeof taken) return;
  memcpy(&taken, bytes, sizeof taken);
  stream->credit += taken;
  if (stream->credit > OUTPUT_WINDOW) stream->credit = OUTPUT_WINDOW;
  job->idle_us = clock_us(); /* it could not write meanwhile */
  if (!stream->is_last) watch_stream(stream);
}

static bool read_held(const struct stream *stream, size_t *held) {
  int bytes = 0;
  bool ok = stream->fd >= 0 && ioctl(stream->fd, FIONREAD, &bytes) == 0;
  *held = ok ? (size_t)bytes : 0;
  return ok;
}

void stream_drain(struct stream *stream) {
  size_t left, got;
  if (!read_held(stream, &left)) return;
  for (; left > 0 && read_output(stream, left, &got); left -= got) {}
}

/* Everything the pipe held when the command ended, and not what a grandchild may write later. */
bool stream_finish(struct stream *stream) {
  size_t got, held = 0;
  if (!stream->is_last) {
    stream->is_last = true;
    read_held(stream, &held);
    /* A terminal's last bytes are still on their way to this side and are seen only by reading. */
    stream->left = stream->is_terminal ? TERMINAL_LAST_MAX : held;
    unwatch_stream(stream);
  }
  while (stream->fd >= 0 && stream->left > 0) {
    size_t room = room_of(stream);
    if (room == 0) return false;
    if (!read_output(stream, stream->left < room ? stream->left : room, &got)) break;
    stream->left -= got;
  }
  stream->left = 0;
  return true;
}

void stream_ready(struct stream *stream) {
  size_t got;
  if (stream->fd < 0) return;
  if (stream->is_input) return write_input(stream);
  if (stream->is_report) return shell_report(stream->job);
  size_t room = room_of(stream);
  if (room == 0) return unwatch_stream(stream); /* until there is credit */
  read_output(stream, room, &got);
}
