/*
 * What a file operation gives out. A whole tree must not gather in the caller's memory, so an operation with a window
 * stops when so many bytes are on their way, until the caller says, by a byte of standard input, that it took some.
 */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static uint8_t out[PAYLOAD_MAX];
static size_t out_length;
static bool is_windowed;
static uint64_t room;

void out_begin(bool has_window) {
  is_windowed = has_window;
  room = OUT_WINDOW;
}

static void wait_for_room(size_t length) {
  uint8_t grants[64];
  while (is_windowed && room < length) {
    ssize_t got = read(0, grants, sizeof grants);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(DENIED); /* the caller gave up */
    room += (uint64_t)got * OUT_GRANT;
  }
  room -= length;
}

void out_flush(void) {
  wait_for_room(out_length);
  for (size_t at = 0; at < out_length;) {
    ssize_t written = write(1, out + at, out_length - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(DENIED);
    at += (size_t)written;
  }
  out_length = 0;
}

void out_bytes(const void *bytes, size_t length) {
  const uint8_t *from = bytes;
  while (length > 0) {
    size_t part = sizeof out - out_length < length ? sizeof out - out_length : length;
    memcpy(out + out_length, from, part);
    out_length += part;
    from += part;
    length -= part;
    if (out_length == sizeof out) out_flush();
  }
}
