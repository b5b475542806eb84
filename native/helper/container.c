/*
 * The agent as PID 1 of a container that an engine made: `sandlot-helper agent`, frames on standard input and output.
 * The engine has made the namespaces, the root and the limits; this file finds the container's own counters, moves the
 * channel out of the way of commands, and confines itself as far as a process without privileges can.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANNEL_FROM 512 /* above every number a command may be given */

static int open_first(const char *const paths[], size_t count) {
  for (size_t at = 0; at < count; at++) {
    int fd = open(paths[at], O_RDONLY | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return -1;
}
#define OPEN_FIRST(...) open_first((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* An engine shows a container its own groups read-only: one hierarchy (v2), or one folder per controller (v1). */
static void find_counters(struct box_groups *groups) {
  *groups = (struct box_groups){.leaf_root = -1, .leaf_join = -1, .leaf_park = -1, .clone_into = -1, .counts_agent = true};
  groups->oom_events = OPEN_FIRST("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control");
  groups->memory_now = OPEN_FIRST("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes");
  groups->memory_peak = OPEN_FIRST("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes");
  groups->pids_now = OPEN_FIRST("/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current");
  groups->pids_events = OPEN_FIRST("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events");
  groups->cpu_stat = OPEN_FIRST("/sys/fs/cgroup/cpu.stat");
  groups->cpu_events = OPEN_FIRST("/sys/fs/cgroup/cpu/cpu.stat");
}

static const char *take_channel(int *from, int *to) {
  *from = fcntl(0, F_DUPFD_CLOEXEC, CHANNEL_FROM);
  *to = fcntl(1, F_DUPFD_CLOEXEC, CHANNEL_FROM);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (*from < 0 || *to < 0 || nothing < 0) return "take the channel";
  for (int fd = 0; fd <= 2; fd++)
    if (dup2(nothing, fd) != fd) return "take the channel";
  close(nothing);
  return NULL;
}

/* agent [processes=N] [seccomp=strict]: never returns. An error goes out as a frame, for whoever is attached. */
int container_main(int argc, char **argv) {
  struct box_request request = {.processes_max = UINT64_MAX};
  struct box_groups groups;
  int from = 0, to = 1;
  if (getpid() != 1) {
    fprintf(stderr, "sandlot-helper agent is the first process of a container; an engine starts it\n");
    return 2;
  }
  for (int at = 2; at < argc; at++) {
    if (strncmp(argv[at], "processes=", 10) == 0) request.processes_max = strtoull(argv[at] + 10, NULL, 10);
    if (strcmp(argv[at], "seccomp=strict") == 0) request.is_strict = true;
  }
  strcpy(request.id, "container");
  /* Its words name nothing of the machine, and in the list of processes it shows as no command. */
  char *words_end = argv[argc - 1] + strlen(argv[argc - 1]);
  memset(argv[0], 0, (size_t)(words_end - argv[0]));
  const char *failed = take_channel(&from, &to);
  find_counters(&groups);
  if (failed == NULL && !tags_open()) failed = "open the list of processes";
  if (failed == NULL) failed = confine_late(request.is_strict);
  if (failed != NULL) {
    char frame[FRAME_HEADER + 256];
    int bytes = snprintf(frame + FRAME_HEADER, sizeof frame - FRAME_HEADER, "%s: %s", failed, strerror(errno));
    frame_header((uint8_t *)frame, (uint32_t)bytes, 0, FRAME_ERROR, 0);
    return write(to, frame, FRAME_HEADER + (size_t)bytes) < 0 ? 3 : 1;
  }
  prctl(PR_SET_NAME, "sandlot-agent");
  umask(022);
  if (chdir("/") != 0) return 1;
  agent_main(from, to, &groups, &request);
}
