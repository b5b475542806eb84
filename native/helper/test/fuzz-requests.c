/*
 * libFuzzer target: what comes over the agent's channel. Whatever the bytes, a frame lies inside its buffer, a request
 * has its words and variables inside its own, ended by NULL, and descriptors only where a command may have them.
 */
#include "../agent.h"
#include <stdlib.h>
#include <string.h>

static void check(bool ok) {
  if (!ok) abort();
}

static bool lies_inside(const char *text, const struct gathered *request) {
  const char *from = (const char *)request->bytes;
  return text >= from && text + strlen(text) <= from + request->length;
}

static void check_request(struct gathered *request) {
  struct exec_request decoded;
  if (request_decode(request->bytes, request->length, &decoded)) {
    check(decoded.argc > 0 && decoded.argv[decoded.argc] == NULL && lies_inside(decoded.cwd, request));
    for (uint32_t at = 0; at < decoded.argc; at++) check(lies_inside(decoded.argv[at], request));
    for (char **variable = decoded.envp; *variable != NULL; variable++) check(lies_inside(*variable, request));
    check(decoded.pipe_count <= PIPES_MAX);
    for (uint32_t at = 0; at < decoded.pipe_count; at++)
      check(decoded.pipes[at].fd >= 3 && decoded.pipes[at].fd <= PIPE_FD_MAX && decoded.pipes[at].ways <= 3);
  }
  request_free(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size + 1); /* exactly as long as it is, so that one byte too far is seen */
  struct gathered request = {0};
  struct frame frame;
  size_t at = 0;
  if (bytes == NULL) return 0;
  memcpy(bytes, data, size);
  bytes = realloc(bytes, size > 0 ? size : 1);
  while (frame_take(bytes + at, size - at, &frame) == FRAME_WHOLE) {
    check(frame.bytes <= PAYLOAD_MAX && frame.payload + frame.bytes <= bytes + size);
    enum gather_state state = request_gather(&request, &frame);
    if (state != GATHER_MORE) {
      if (state == GATHER_DONE) check_request(&request);
      request_reset(&request);
    }
    at += FRAME_HEADER + frame.bytes;
  }
  request_reset(&request);
  free(bytes);
  return 0;
}
