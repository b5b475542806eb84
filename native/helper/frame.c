/* Small pieces both sides use: frame headers, a best-effort send of one short frame, the monotonic clock. */
#include "helper.h"
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void frame_header(uint8_t *to, uint32_t bytes, uint32_t channel, uint16_t type, uint16_t flags) {
  memcpy(to, &bytes, 4);
  memcpy(to + 4, &channel, 4);
  memcpy(to + 8, &type, 2);
  memcpy(to + 10, &flags, 2);
}

/* For the last words of a dying sandbox: never blocks, and a full socket loses them, which reads as a plain loss. */
void frame_send_now(int socket, uint32_t channel, uint16_t type, const void *payload, uint32_t bytes) {
  uint8_t frame[FRAME_HEADER + 512];
  if (bytes > 512) bytes = 512;
  frame_header(frame, bytes, channel, type, 0);
  if (bytes > 0) memcpy(frame + FRAME_HEADER, payload, bytes);
  send(socket, frame, FRAME_HEADER + bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

uint64_t clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

bool write_text(int folder, const char *name, const char *text) {
  int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = (ssize_t)strlen(text);
  bool ok = write(fd, text, (size_t)length) == length;
  close(fd);
  return ok;
}
