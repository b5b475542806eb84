/*
 * Makes the groups of one sandbox in a folder tree that stands for a v2 hierarchy with every controller, so that what
 * groups.c writes there can be read on a machine whose own v2 mount has none. A new folder gets the files a kernel would
 * put there, and writes are checked against them: the program ends with 1 where a kernel would refuse.
 */
#define _GNU_SOURCE
#include "../helper.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const FILES[] = {"cgroup.procs", "cgroup.controllers", "cgroup.subtree_control", "cgroup.kill", "cgroup.freeze",
                                    "memory.max", "memory.swap.max", "memory.events", "memory.current", "memory.peak",
                                    "pids.max", "pids.current", "pids.events", "cpu.max", "cpu.stat"};

int fake_mkdirat(int parent, const char *name, mode_t mode) {
  if (mkdirat(parent, name, mode) != 0) return -1;
  int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (size_t at = 0; at < sizeof FILES / sizeof *FILES; at++) {
    int fd = openat(folder, FILES[at], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return -1;
    close(fd);
  }
  close(folder);
  return 0;
}

/* Appends a line, so that the order of the writes to one file is kept; the file must be there. */
bool write_text(int folder, const char *name, const char *text) {
  int fd = openat(folder, name, O_WRONLY | O_APPEND | O_CLOEXEC);
  bool ok = fd >= 0 && dprintf(fd, "%s\n", text) > 0;
  if (fd >= 0) close(fd);
  return ok;
}

bool maps_are_root(void) { return true; }
uid_t maps_box_root(void) { return getuid(); }
const char *maps_report(void) { return "root"; }

int main(void) {
  struct box_request request = {.id = "box", .memory_bytes = 64 << 20, .disk_bytes = 16 << 20, .shm_bytes = 4 << 20,
                                .processes_max = 64, .cpu_quota_us = 50000};
  struct box_groups groups;
  groups_open("sandlot-owner");
  printf("%s\n", groups_report());
  if (groups_create(&request, &groups) != 0) return 1;
  printf("leaves %s, events %s, clones %s\n", groups.leaf_kills ? "kill" : "swept", groups.oom_events >= 0 ? "counted" : "unknown",
         groups.clone_into >= 0 ? "inside" : "outside");
  return 0;
}
