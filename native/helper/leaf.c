/*
 * One control group per command, so that a command's whole tree can be ended, whatever it forked or detached. Empty
 * ones are used again: making a group costs more than moving into one.
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

struct leaf *leaf_take(void) {
  if (groups.leaf_root < 0) return NULL;
  for (struct leaf **at = &unused; *at != NULL; at = &(*at)->next)
    if (leaf_is_empty(*at)) {
      struct leaf *leaf = *at;
      *at = leaf->next;
      return leaf;
    }
  struct leaf *leaf = calloc(1, sizeof *leaf);
  char path[48];
  if (leaf == NULL) return NULL;
  snprintf(leaf->name, sizeof leaf->name, "e%u", made++);
  snprintf(path, sizeof path, "%s/cgroup.procs", leaf->name);
  if (mkdirat(groups.leaf_root, leaf->name, 0755) != 0 ||
      (leaf->procs = openat(groups.leaf_root, path, O_RDWR | O_CLOEXEC)) < 0) {
    free(leaf);
    return NULL;
  }
  snprintf(path, sizeof path, "%s/cgroup.kill", leaf->name);
  leaf->kill = groups.leaf_kills ? openat(groups.leaf_root, path, O_WRONLY | O_CLOEXEC) : -1;
  return leaf;
}

void leaf_give(struct leaf *leaf) {
  if (leaf == NULL) return;
  leaf->next = unused;
  unused = leaf;
}

size_t leaf_pids(const struct leaf *leaf, pid_t *out, size_t max) {
  static char text[65536];
  ssize_t got = pread(leaf->procs, text, sizeof text - 1, 0);
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
  return pread(leaf->procs, &byte, 1, 0) == 0;
}

/* Without cgroup.kill (v1, or a kernel before 5.14) the group is swept until it stays empty or 50 rounds are over. */
void leaf_kill(const struct leaf *leaf) {
  static pid_t pids[8192];
  if (leaf->kill >= 0 && write(leaf->kill, "1", 1) == 1) return;
  for (int round = 0; round < 50; round++) {
    size_t count = leaf_pids(leaf, pids, sizeof pids / sizeof *pids);
    if (count == 0) return;
    for (size_t at = 0; at < count; at++)
      if (pids[at] > 1) kill(pids[at], SIGKILL);
  }
}
