/*
 * Layers in the making: the zygote's side of merge.c. Each is a child with a tmpfs that becomes the layer when the child
 * ends well; the owner is told on standard output. A sandbox that is copied live stays frozen until its child has ended.
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
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FROZEN_MS_MAX 2000

struct merge {
  struct merge *next;
  pid_t pid;
  char name[LAYER_NAME_BYTES];
  int mount;
  int freezer; /* the group of a sandbox that is copied live, or -1 */
};

static struct merge *merges;

static void tell(const char *name, const char *state, const char *why) {
  printf("layer %s %s %s\n", name, state, why);
  fflush(stdout);
}

static bool wait_frozen(int freezer) {
  for (int tries = 0; tries < FROZEN_MS_MAX; tries++) {
    char text[256] = "";
    int fd = openat(freezer, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return false;
    close(fd);
    if (strstr(text, "frozen 1") != NULL) return true;
    usleep(1000);
  }
  errno = ETIMEDOUT;
  return false;
}

/* Holds nothing of any sandbox but what it copies: a kept channel would hide a sandbox's end. */
__attribute__((noreturn)) static void work(const int *mounts, int count, int target, int freezer) {
  int sources[LAYERS_MAX], next = 512;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "sandlot-merge");
  if (mkdirat(target, "upper", 0755) != 0) _exit(errno);
  int to = openat(target, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int at = 0; at < count; at++) sources[at] = openat(mounts[at], "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int *kept[] = {&to, &freezer};
  for (int at = 0; at < count + 2; at++) {
    int *fd = at < count ? &sources[at] : kept[at - count];
    if (*fd < 0 && fd != &freezer) _exit(errno == 0 ? EBADF : errno);
    if (*fd >= 0 && (*fd = fcntl(*fd, F_DUPFD_CLOEXEC, next)) < 0) _exit(errno);
    if (*fd >= 0) next = *fd + 1;
  }
  syscall(SYS_close_range, 0, 511, 0);
  syscall(SYS_close_range, next, ~0u, 0);
  if (freezer >= 0 && !wait_frozen(freezer)) _exit(errno);
  if (!merge_folders(sources, count, to)) _exit(errno == 0 ? EIO : errno);
  _exit(0);
}

/* Room for all that the sources hold, and for the folders above it. */
static int make_target(const int *mounts, int count) {
  uint64_t bytes = 1 << 20, files = STORAGE_INODES;
  for (int at = 0; at < count; at++) {
    struct statfs used;
    if (fstatfs(mounts[at], &used) != 0) return -1;
    bytes += (uint64_t)(used.f_blocks - used.f_bfree) * (uint64_t)used.f_bsize;
    files += (uint64_t)(used.f_files - used.f_ffree);
  }
  return storage_make(bytes, files);
}

void merge_start(const char *name, const int *mounts, int count, int freezer) {
  struct merge *merge = calloc(1, sizeof *merge);
  int target = merge == NULL || count == 0 ? -1 : make_target(mounts, count);
  pid_t pid = -1;
  if (target >= 0 && layer_announce(name, -1)) {
    if (freezer >= 0) write_text(freezer, "cgroup.freeze", "1");
    pid = fork();
    if (pid == 0) work(mounts, count, target, freezer);
    if (pid < 0) layer_drop(name);
  }
  if (pid < 0) {
    tell(name, errno == ENOSYS ? "unsupported" : "failed", strerror(errno));
    if (freezer >= 0) close(freezer);
    if (target >= 0) close(target);
    free(merge);
    return;
  }
  *merge = (struct merge){.next = merges, .pid = pid, .mount = target, .freezer = freezer};
  strcpy(merge->name, name);
  merges = merge;
}

void merge_reaped(pid_t pid, int status) {
  for (struct merge **at = &merges; *at != NULL; at = &(*at)->next) {
    struct merge *merge = *at;
    if (merge->pid != pid) continue;
    if (merge->freezer >= 0) {
      write_text(merge->freezer, "cgroup.freeze", "0");
      close(merge->freezer);
    }
    if (status == 0) {
      layer_fill(merge->name, merge->mount);
      tell(merge->name, "ready", "");
    } else {
      close(merge->mount);
      layer_drop(merge->name);
      tell(merge->name, "failed", WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "its copy was killed");
    }
    *at = merge->next;
    free(merge);
    return;
  }
}

void merges_kill(void) {
  for (struct merge *merge = merges; merge != NULL; merge = merge->next) kill(merge->pid, SIGKILL);
}
