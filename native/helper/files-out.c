/* What a file operation gives out: buffered, so that a tree of many small entries is few writes; a full pipe holds it. */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static uint8_t out[PAYLOAD_MAX];
static size_t out_length;

void out_flush(void) {
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
