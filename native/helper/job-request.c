/*
 * What comes in over the channel, as bytes only: frames cut from a buffer, requests gathered from several frames, and
 * the request of a job taken apart. No I/O and no state of the agent, so that it can be linked and tested alone.
 */
#include "agent.h"
#include <stdlib.h>
#include <string.h>

enum frame_state frame_take(uint8_t *from, size_t length, struct frame *frame) {
  if (length < FRAME_HEADER) return FRAME_PART;
  memcpy(&frame->bytes, from, 4);
  memcpy(&frame->channel, from + 4, 4);
  memcpy(&frame->type, from + 8, 2);
  memcpy(&frame->flags, from + 10, 2);
  if (frame->bytes > PAYLOAD_MAX) return FRAME_BAD;
  if (length - FRAME_HEADER < frame->bytes) return FRAME_PART;
  frame->payload = from + FRAME_HEADER;
  return FRAME_WHOLE;
}

enum gather_state request_gather(struct gathered *to, const struct frame *frame) {
  if (!to->is_lost) {
    uint8_t *grown = to->length + frame->bytes > REQUEST_MAX ? NULL : realloc(to->bytes, to->length + frame->bytes + 1);
    to->is_lost = grown == NULL;
    if (grown != NULL) {
      to->bytes = grown;
      memcpy(to->bytes + to->length, frame->payload, frame->bytes);
      to->length += frame->bytes;
      to->bytes[to->length] = 0;
    }
  }
  if (frame->flags & FLAG_MORE) return GATHER_MORE;
  return to->is_lost ? GATHER_TOO_LONG : GATHER_DONE;
}

void request_reset(struct gathered *to) {
  free(to->bytes);
  *to = (struct gathered){0};
}

/* Splits the string block into cwd, argv and envp. The block ends with a NUL that request_gather() wrote. */
static bool take_strings(uint8_t *payload, size_t bytes, size_t at, uint32_t envc, struct exec_request *to) {
  size_t count = 1 + (size_t)to->argc + envc; /* each takes a byte at least, so a lie cannot ask for much memory */
  if (to->argc == 0 || at > bytes || count > bytes - at) return false;
  to->argv = calloc(count + 1, sizeof(char *));
  if (to->argv == NULL) return false;
  to->envp = to->argv + to->argc + 1;
  for (size_t index = 0; index < count; index++) {
    if (at >= bytes) return false;
    char *text = (char *)payload + at;
    at += strlen(text) + 1;
    if (index == 0) to->cwd = text;
    else if (index <= to->argc) to->argv[index - 1] = text;
    else to->envp[index - 1 - to->argc] = text;
  }
  return true;
}

static bool are_pipes_valid(const struct exec_request *request) {
  for (uint32_t at = 0; at < request->pipe_count; at++) {
    uint32_t fd = request->pipes[at].fd, ways = request->pipes[at].ways;
    if (fd < 3 || fd > PIPE_FD_MAX || ways < 1 || ways > 3) return false;
  }
  return true;
}

bool request_decode(uint8_t *payload, size_t bytes, struct exec_request *to) {
  uint32_t envc;
  *to = (struct exec_request){0};
  if (bytes < REQUEST_FIXED) return false;
  memcpy(&to->kind, payload, 4);
  memcpy(&to->uid, payload + 4, 20);
  memcpy(&to->cap, payload + 24, 8);
  memcpy(&to->pipe_count, payload + 32, 4);
  memcpy(&to->columns, payload + 36, 2);
  memcpy(&to->rows, payload + 38, 2);
  size_t at = REQUEST_FIXED;
  if (to->pipe_count > PIPES_MAX || bytes - at < to->pipe_count * 8 + 8) return false;
  memcpy(to->pipes, payload + at, to->pipe_count * 8);
  at += to->pipe_count * 8;
  memcpy(&to->argc, payload + at, 4);
  memcpy(&envc, payload + at + 4, 4);
  return are_pipes_valid(to) && take_strings(payload, bytes, at + 8, envc, to);
}

void request_free(struct exec_request *request) {
  free(request->argv);
  request->argv = NULL;
}
