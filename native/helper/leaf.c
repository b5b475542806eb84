/*
 * One control group per command, so that a command's whole tree can be ended, whatever it forked or detached. Empty
 * ones are used again, for making a group costs; but not after a kill, because the kernel then also kills what is cloned
 * into the group later.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct leaf *unused;    /* given back; may still hold processes of a command that left some behind */
static unsigned made;

static void remove_leaf(struct leaf *leaf) {
  char name[16];
  if (leaf->is_mark) return free(leaf);
  snprintf(name, sizeof name, "e%u", leaf->number);
  unlinkat(groups.leaf_root, name, AT_REMOVEDIR);
  int open[] = {leaf->folder, leaf->procs, leaf->kill, leaf->tasks, leaf->events, leaf->memory_events, leaf->memory_peak};
  for (size_t at = 0; at < sizeof open / sizeof *open; at++)
    if (open[at] >= 0) close(open[at]);
  free(leaf);
}

struct leaf *leaf_take(void) {
  if (groups.leaf_root < 0 && process_folder < 0) return NULL;
  for (struct leaf **at = &unused; *at != NULL;) {
    struct leaf *leaf = *at;
    if (!leaf->is_known_empty && !leaf_is_empty(leaf)) {
      at = &leaf->next;
      continue;
    }
    *at = leaf->next;
    leaf->is_known_empty = false;
    if (!leaf->is_spent) return leaf;
    remove_leaf(leaf);
  }
  struct leaf *leaf = calloc(1, sizeof *leaf);
  char name[16];
  if (leaf == NULL) return NULL;
  *leaf = (struct leaf){.number = made++, .folder = -1, .procs = -1, .kill = -1, .tasks = -1, .events = -1,
                        .memory_events = -1, .memory_peak = -1};
  leaf->is_mark = groups.leaf_root < 0;
  if (leaf->is_mark) return leaf;
  snprintf(name, sizeof name, "e%u", leaf->number);
  if (mkdirat(groups.leaf_root, name, 0755) == 0)
    leaf->folder = openat(groups.leaf_root, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  leaf->procs = leaf->folder < 0 ? -1 : openat(leaf->folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
  if (leaf->procs < 0) {
    if (leaf->folder >= 0) close(leaf->folder);
    free(leaf);
    return NULL;
  }
  leaf->kill = groups.leaf_kills ? openat(leaf->folder, "cgroup.kill", O_WRONLY | O_CLOEXEC) : -1;
  leaf->tasks = groups.leaf_kills ? -1 : openat(leaf->folder, "tasks", O_WRONLY | O_CLOEXEC);
  leaf->events = groups.leaf_kills ? -1 : openat(leaf->folder, "pids.events", O_RDONLY | O_CLOEXEC);
  leaf->memory_events = groups.leaf_kills ? openat(leaf->folder, "memory.events", O_RDONLY | O_CLOEXEC) : -1;
  leaf->memory_peak = groups.leaf_kills ? openat(leaf->folder, "memory.peak", O_RDWR | O_CLOEXEC) : -1;
  if (leaf->memory_peak < 0 && leaf->memory_events >= 0) /* a kernel before 6.12 */
    leaf->memory_peak = openat(leaf->folder, "memory.peak", O_RDONLY | O_CLOEXEC);
  leaf->is_fresh = true;
  return leaf;
}

void leaf_give(struct leaf *leaf) {
  if (leaf == NULL) return;
  leaf->next = unused;
  unused = leaf;
}

/* Opened anew each time: v1 gives an open file the list it made at first, for up to a second. */
static ssize_t read_pids(const struct leaf *leaf, char *text, size_t room) {
  int fd = openat(leaf->folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, text, room);
  if (fd >= 0) close(fd);
  return got;
}

size_t leaf_pids(const struct leaf *leaf, pid_t *out, size_t max) {
  static char text[65536];
  if (leaf->is_mark) return tag_pids(leaf->number, out, max);
  ssize_t got = read_pids(leaf, text, sizeof text - 1);
  size_t count = 0;
  if (got <= 0) return 0;
  text[got] = 0;
  for (char *at = text; *at != 0 && count < max;) {
    out[count++] = (pid_t)strtol(at, &at, 10);
    while (*at == '\n') at++;
  }
  return count;
}

bool leaf_is_empty(const struct leaf *leaf) {
  char byte;
  pid_t one;
  if (leaf->is_mark) return tag_pids(leaf->number, &one, 1) == 0;
  return leaf->kill >= 0 ? pread(leaf->procs, &byte, 1, 0) == 0 : read_pids(leaf, &byte, 1) == 0;
}

/* A group that was used before tells the peak of all its commands, unless the kernel (6.12) can begin anew. */
bool leaf_reset_peak(struct leaf *leaf) {
  bool was_fresh = leaf->is_fresh;
  leaf->is_fresh = false;
  return leaf->memory_peak >= 0 && (was_fresh || write(leaf->memory_peak, "reset", 5) == 5);
}

size_t leaf_count(struct leaf *leaf) {
  static char text[65536];
  static pid_t pids[8192];
  if (leaf->is_mark) return tag_pids(leaf->number, pids, sizeof pids / sizeof *pids);
  ssize_t got = leaf->kill >= 0 ? pread(leaf->procs, text, sizeof text, 0) : read_pids(leaf, text, sizeof text);
  size_t count = 0;
  for (ssize_t at = 0; at < got; at++) count += text[at] == '\n';
  leaf->is_known_empty = got == 0;
  return count;
}

uint64_t leaf_limit_hits(const struct leaf *leaf) {
  return read_counter(leaf != NULL && leaf->events >= 0 ? leaf->events : groups.pids_events, "max");
}

/* Without cgroup.kill (v1, or a kernel before 5.14) the group is swept until it stays empty or 50 rounds are over. */
void leaf_kill(struct leaf *leaf) {
  static pid_t pids[8192];
  leaf->is_spent = true;
  if (leaf->kill >= 0 && write(leaf->kill, "1", 1) == 1) return;
  for (int round = 0; round < 50; round++) {
    size_t count = leaf_pids(leaf, pids, sizeof pids / sizeof *pids);
    if (count == 0) return;
    for (size_t at = 0; at < count; at++)
      if (pids[at] > 1) kill(pids[at], SIGKILL);
  }
}
