/*
 * Expected: ends with 0, and neither the host nor the sandbox's own limit is passed. For some seconds it makes the kernel
 * remember as much as it can: files opened and removed at once, names that were never there, pages of a file read again.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  char name[256], block[65536];
  memset(block, 1, sizeof block);
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  memcpy(name, "/tmp/", 5);
  for (unsigned at = 0; at < 40000; at++) {
    struct stat info;
    snprintf(name + 230, 20, "%u", at);
    stat(name, &info);
    if (at % 8 != 0) continue;
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    unlink(name);
    if (fd >= 0 && write(fd, block, sizeof block) < 0) return 1;
    if (fd >= 0) close(fd);
  }
  return 0;
}
