/* A terminal of its own for a command: a pair of the sandbox's private devpts, which no other sandbox and no host sees. */
#define _GNU_SOURCE
#include "agent.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

void terminal_resize(int fd, uint16_t columns, uint16_t rows) {
  struct winsize size = {.ws_col = columns, .ws_row = rows};
  ioctl(fd, TIOCSWINSZ, &size); /* tells the command by SIGWINCH */
}

int terminal_open(const struct exec_request *request, int *command_side) {
  int unlock = 0;
  int ours = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (ours < 0) return -1;
  bool ok = ioctl(ours, TIOCSPTLCK, &unlock) == 0;
  /* By number and not by path: what lies at the path is not asked. */
  *command_side = ok ? ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
  ok = *command_side >= 0 && (request->uid == 0 || fchown(*command_side, request->uid, request->gid) == 0);
  if (ok) {
    terminal_resize(ours, request->columns, request->rows);
    return ours;
  }
  if (*command_side >= 0) close(*command_side);
  close(ours);
  return -1;
}
