/*
 * What a sandbox sees of the kernel: a shared read-only /dev, its own /dev/shm, and a private /proc whose tell-tale
 * files are masked and whose switches are read-only.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <stdio.h>
#include <sys/mount.h>

/* Each could tell of, or reach, the host; missing ones are fine. */
static const char *const MASKED[] = {"kcore", "keys", "key-users", "sysrq-trigger", "timer_list", "sched_debug", "kmsg"};
static const char *const READ_ONLY[] = {"sys", "irq", "bus"};

const char *views_mount(const struct box_request *request) {
  char options[64], path[64];
  if (mount("/dev", BOX_ROOT "/dev", NULL, MS_BIND, NULL) != 0) return "bind /dev";
  snprintf(options, sizeof options, "mode=1777,size=%llu", (unsigned long long)request->shm_bytes);
  if (mount("tmpfs", BOX_ROOT "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return "mount /dev/shm";
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("proc", BOX_ROOT "/proc", "proc", flags, "hidepid=2") != 0) return "mount /proc";
  for (size_t at = 0; at < sizeof READ_ONLY / sizeof *READ_ONLY; at++) {
    snprintf(path, sizeof path, BOX_ROOT "/proc/%s", READ_ONLY[at]);
    if (mount(path, path, NULL, MS_BIND, NULL) != 0) {
      if (errno == ENOENT) continue;
      return "bind /proc/sys";
    }
    if (mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | flags, NULL) != 0) return "make /proc/sys read-only";
  }
  for (size_t at = 0; at < sizeof MASKED / sizeof *MASKED; at++) {
    snprintf(path, sizeof path, BOX_ROOT "/proc/%s", MASKED[at]);
    if (mount("/dev/null", path, NULL, MS_BIND, NULL) != 0 && errno != ENOENT) return "mask /proc files";
  }
  return NULL;
}
