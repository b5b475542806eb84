/*
 * libFuzzer target: the stream of an upload, from a sender that means harm. Whatever the bytes, each path stays below its
 * folder, content lies only inside a file, and the same bytes in other pieces are the same records.
 */
#include "../files.h"
#include <stdlib.h>
#include <string.h>

struct seen {
  bool in_file;
  uint64_t sum;
};

static void check(bool ok) {
  if (!ok) abort();
}

static void mix(struct seen *seen, const void *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) seen->sum = (seen->sum ^ ((const uint8_t *)bytes)[at]) * 1099511628211u;
}

static enum answer entry(struct seen *seen, const char *path, mode_t mode) {
  check(!seen->in_file && (mode & ~0777u) == 0);
  size_t length = strlen(path);
  check(length > 0 && length < PATH_BYTES_MAX && path[0] != '/' && path[length - 1] != '/');
  char slashed[PATH_BYTES_MAX + 2];
  slashed[0] = '/';
  memcpy(slashed + 1, path, length);
  memcpy(slashed + 1 + length, "/", 2);
  check(strstr(slashed, "/../") == NULL && strstr(slashed, "/./") == NULL && strstr(slashed, "//") == NULL);
  mix(seen, path, length + 1);
  mix(seen, &mode, sizeof mode);
  return DONE;
}

static enum answer folder(void *context, const char *path, mode_t mode) { return entry(context, path, mode); }

static enum answer file(void *context, const char *path, mode_t mode) {
  struct seen *seen = context;
  enum answer answer = entry(seen, path, mode);
  seen->in_file = true;
  return answer;
}

static enum answer content(void *context, const uint8_t *bytes, size_t length) {
  struct seen *seen = context;
  check(seen->in_file && length > 0);
  mix(seen, bytes, length);
  return DONE;
}

static enum answer file_end(void *context) {
  struct seen *seen = context;
  check(seen->in_file);
  seen->in_file = false;
  return DONE;
}

static const struct record_sink SINK = {folder, file, content, file_end};

/* Decodes in pieces of `piece` bytes, each in memory of its own, so that reading beyond one is seen. */
static enum answer decode(const uint8_t *bytes, size_t length, size_t piece, struct seen *seen) {
  struct record_decoder *decoder = calloc(1, sizeof *decoder);
  enum answer answer = DONE;
  decoder->sink = &SINK;
  decoder->context = seen;
  while (length > 0 && answer == DONE) {
    size_t part = piece < length ? piece : length;
    uint8_t *copy = malloc(part);
    memcpy(copy, bytes, part);
    answer = records_take(decoder, copy, part);
    free(copy);
    bytes += part;
    length -= part;
  }
  free(decoder);
  return answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  if (length < 1) return 0;
  struct seen whole = {0}, cut = {0};
  size_t piece = bytes[0] % 32 + 1u;
  enum answer one = decode(bytes + 1, length - 1, length, &whole), other = decode(bytes + 1, length - 1, piece, &cut);
  check(one == other && whole.sum == cut.sum && whole.in_file == cut.in_file);
  return 0;
}
