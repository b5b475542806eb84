/*
 * The stream of a tree as bytes: decoding, whatever the borders of the pieces it comes in, and the rule for the paths in
 * it. Pure: what a record does is the sink's. Nothing here trusts the sender.
 */
#include "files.h"
#include <string.h>

void record_head(uint8_t *to, char kind, size_t path_bytes, mode_t mode) {
  uint16_t bytes = (uint16_t)path_bytes;
  uint32_t bits = mode;
  to[0] = (uint8_t)kind;
  to[1] = 0;
  memcpy(to + 2, &bytes, 2);
  memcpy(to + 4, &bits, 4);
}

bool is_path_below(const char *path, size_t length) {
  if (length == 0 || length >= PATH_BYTES_MAX || memchr(path, 0, length) != NULL) return false;
  for (size_t at = 0; at <= length;) {
    const char *slash = memchr(path + at, '/', length - at);
    size_t part = (slash == NULL ? length : (size_t)(slash - path)) - at;
    if (part == 0 || part > 255) return false;
    if (path[at] == '.' && (part == 1 || (part == 2 && path[at + 1] == '.'))) return false;
    at += part + 1;
  }
  return true;
}

/* A whole head is there: where does the stream go on? */
static enum answer take_head(struct record_decoder *decoder) {
  uint16_t bytes;
  memcpy(&bytes, decoder->head + 2, 2);
  decoder->have = 0;
  if (decoder->head[0] == 'e' && bytes == 0) {
    decoder->state = AT_END;
    return DONE;
  }
  if ((decoder->head[0] != 'f' && decoder->head[0] != 'd') || bytes == 0 || bytes >= sizeof decoder->path) return INVALID_PATH;
  decoder->state = AT_PATH;
  return DONE;
}

static enum answer take_path(struct record_decoder *decoder, uint16_t bytes) {
  uint32_t mode;
  memcpy(&mode, decoder->head + 4, 4);
  decoder->path[bytes] = 0;
  decoder->have = 0;
  if (!is_path_below(decoder->path, bytes)) return INVALID_PATH;
  bool is_file = decoder->head[0] == 'f';
  decoder->state = is_file ? AT_CHUNK_HEAD : AT_HEAD;
  return (is_file ? decoder->sink->file : decoder->sink->folder)(decoder->context, decoder->path, mode & 0777);
}

static enum answer take_chunk_head(struct record_decoder *decoder) {
  memcpy(&decoder->chunk_left, decoder->head, 4);
  decoder->have = 0;
  decoder->state = decoder->chunk_left == 0 ? AT_HEAD : AT_CHUNK;
  return decoder->chunk_left == 0 ? decoder->sink->file_end(decoder->context) : DONE;
}

/* Moves up to what is missing of `want` bytes; true when they are whole. */
static bool gather(struct record_decoder *decoder, void *to, size_t want, const uint8_t **bytes, size_t *length) {
  size_t part = want - decoder->have < *length ? want - decoder->have : *length;
  memcpy((uint8_t *)to + decoder->have, *bytes, part);
  decoder->have += part;
  *bytes += part;
  *length -= part;
  return decoder->have == want;
}

enum answer records_take(struct record_decoder *decoder, const uint8_t *bytes, size_t length) {
  enum answer answer = DONE;
  while (length > 0 && answer == DONE) {
    uint16_t path_bytes;
    memcpy(&path_bytes, decoder->head + 2, 2);
    switch (decoder->state) {
      case AT_HEAD:
        if (gather(decoder, decoder->head, RECORD_HEAD, &bytes, &length)) answer = take_head(decoder);
        break;
      case AT_PATH:
        if (gather(decoder, decoder->path, path_bytes, &bytes, &length)) answer = take_path(decoder, path_bytes);
        break;
      case AT_CHUNK_HEAD:
        if (gather(decoder, decoder->head, 4, &bytes, &length)) answer = take_chunk_head(decoder);
        break;
      case AT_CHUNK: {
        size_t part = decoder->chunk_left < length ? decoder->chunk_left : length;
        answer = decoder->sink->content(decoder->context, bytes, part);
        bytes += part;
        length -= part;
        decoder->chunk_left -= (uint32_t)part;
        if (decoder->chunk_left == 0) decoder->state = AT_CHUNK_HEAD;
        break;
      }
      case AT_END: return INVALID_PATH;
    }
  }
  return answer;
}
