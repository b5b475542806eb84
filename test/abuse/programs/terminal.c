/*
 * Expected: prints nothing. Pushes a character into every terminal it can find, its own and the host's, by TIOCSTI, and
 * asks the console to paste by TIOCLINUX; names each door that let it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

static void push(const char *name, int fd) {
  char byte = 'x', paste = 3;
  if (fd < 0) return;
  if (ioctl(fd, TIOCSTI, &byte) == 0) printf("%s takes TIOCSTI\n", name);
  if (ioctl(fd, TIOCLINUX, &paste) == 0) printf("%s takes TIOCLINUX\n", name);
  if (ioctl(fd, TIOCSTI | 0x100000000ul, &byte) == 0) printf("%s takes TIOCSTI behind high bits\n", name);
}

int main(void) {
  static const char *const names[] = {"/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/ptmx", "/dev/pts/0"};
  for (int fd = 0; fd < 3; fd++) push("an inherited descriptor", fd);
  for (size_t at = 0; at < sizeof names / sizeof *names; at++) push(names[at], open(names[at], O_RDWR | O_NOCTTY | O_NONBLOCK));
  return 0;
}
