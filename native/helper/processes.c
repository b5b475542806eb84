/*
 * The list of a sandbox's processes, read from its own /proc by a job of its own. Each is a record of u32 pid, u32 parent,
 * u32 uid, u32 bytes of its words, u64 processor microseconds, u64 bytes of memory, then its words.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 4096
#define RECORD 32

static ssize_t read_whole(int folder, const char *name, char *to, size_t room) {
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
  size_t length = 0;
  for (ssize_t got; fd >= 0 && length < room && (got = read(fd, to + length, room - length)) > 0;) length += (size_t)got;
  if (fd >= 0) close(fd);
  return fd < 0 ? -1 : (ssize_t)length;
}

/* Its name in brackets where a process has no words left, as ps does. */
static size_t words_of(int folder, const char *stat_line, char *to) {
  ssize_t got = read_whole(folder, "cmdline", to, WORDS_MAX);
  size_t length = got > 0 ? (size_t)got : 0;
  while (length > 0 && to[length - 1] == 0) length--;
  for (size_t at = 0; at < length; at++)
    if (to[at] == 0) to[at] = ' ';
  const char *from = strchr(stat_line, '('), *end = strrchr(stat_line, ')');
  if (length > 0 || from == NULL || end == NULL || end < from) return length;
  return (size_t)snprintf(to, WORDS_MAX, "[%.*s]", (int)(end - from - 1), from + 1);
}

static bool describe(int folder, uint32_t pid, uint8_t *record, size_t *bytes) {
  char line[1024];
  struct stat info;
  ssize_t got = read_whole(folder, "stat", line, sizeof line - 1);
  if (got <= 0 || fstat(folder, &info) != 0) return false;
  line[got] = 0;
  const char *rest = strrchr(line, ')'); /* the name before it may hold anything */
  unsigned long long user = 0, system = 0, pages = 0;
  int parent = 0;
  if (rest == NULL || sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %llu",
                             &parent, &user, &system, &pages) != 4)
    return false;
  uint64_t tick_us = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
  uint64_t numbers[2] = {(user + system) * tick_us, pages * (uint64_t)sysconf(_SC_PAGESIZE)};
  uint32_t length = (uint32_t)words_of(folder, line, (char *)record + RECORD);
  uint32_t head[4] = {pid, (uint32_t)parent, info.st_uid, length};
  memcpy(record, head, sizeof head);
  memcpy(record + sizeof head, numbers, sizeof numbers);
  *bytes = RECORD + length;
  return true;
}

void list_processes(void) {
  static uint8_t record[RECORD + WORDS_MAX + 1];
  gid_t readers = PROCESS_READERS_GID;
  /* /proc hides the processes of others from everyone else; where the call is refused, nothing is hidden either. */
  if (setgroups(1, &readers) != 0 && errno != EPERM) _exit(1);
  DIR *proc = opendir("/proc");
  if (proc == NULL) _exit(1);
  for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
    uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
    if (pid <= 1 || pid == (uint32_t)getpid()) continue; /* neither the agent nor this job is the sandbox's own */
    int folder = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t bytes = 0;
    if (folder >= 0 && describe(folder, pid, record, &bytes))
      for (size_t at = 0; at < bytes;) {
        ssize_t written = write(1, record + at, bytes - at);
        if (written <= 0) _exit(1);
        at += (size_t)written;
      }
    if (folder >= 0) close(folder);
  }
  _exit(0);
}
