/*
 * What a sandbox sees of the kernel: a shared read-only /dev, its own /dev/shm, a private /proc whose tell-tale files
 * are masked and whose switches are read-only, and the machine its limits describe (see machine.c). Before the switches
 * are closed, the sandbox's own name spaces are told to give less than the kernel would.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

/* The machine's number of terminals is shared as well. */
#define TERMINALS "newinstance,ptmxmode=0666,mode=0620,max=128"

/* Each could tell of, or reach, the host; missing ones are fine. */
static const char *const MASKED[] = {"kcore", "keys", "key-users", "sysrq-trigger", "timer_list", "sched_debug", "kmsg"};
/* Pressure files take watchers from anybody, and the kernel works for each. */
static const char *const READ_ONLY[] = {"sys", "irq", "bus", "pressure"};

/* All sandboxes together share the host's number of inotify instances and watches, so that one must not be able to take
   them all.
   Shared memory of the System V kind has no file system whose size would bound it. A kernel without a switch keeps its
   own value. */
static void close_switches(const struct box_request *request) {
  char pages[32];
  snprintf(pages, sizeof pages, "%llu", (unsigned long long)(request->shm_bytes / 4096 + 1));
  write_text(AT_FDCWD, BOX_ROOT "/proc/sys/user/max_user_namespaces", "0");
  write_text(AT_FDCWD, BOX_ROOT "/proc/sys/user/max_inotify_instances", "16");
  write_text(AT_FDCWD, BOX_ROOT "/proc/sys/user/max_inotify_watches", "8192");
  write_text(AT_FDCWD, BOX_ROOT "/proc/sys/kernel/shmall", pages);
}

const char *views_mount(const struct box_request *request) {
  char options[64], path[64];
  if (mount("/dev", BOX_ROOT "/dev", NULL, MS_BIND | MS_REC, NULL) != 0) return "bind /dev";
  snprintf(options, sizeof options, "mode=1777,size=%llu", (unsigned long long)request->shm_bytes);
  if (mount("tmpfs", BOX_ROOT "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return "mount /dev/shm";
  if (mount("devpts", BOX_ROOT "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, TERMINALS) != 0)
    return "mount /dev/pts";
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  snprintf(options, sizeof options, "hidepid=2,gid=%d", PROCESS_READERS_GID);
  bool ok = mount("proc", BOX_ROOT "/proc", "proc", flags, options) == 0;
  /* Where the sandbox has one id, there is no such group, and nobody to hide from. */
  if (!ok && mount("proc", BOX_ROOT "/proc", "proc", flags, "hidepid=2") != 0) return "mount /proc";
  close_switches(request);
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
  return machine_enter(request);
}
