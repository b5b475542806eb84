/*
 * Where no control group can hold a command's tree, a mark does: each command gets a limit of real-time computing that
 * names it. Children inherit it, nothing of a sandbox runs in real time, and the system call filter lets nobody change
 * it, so whatever a command forked or detached is found by reading the limits of every process. The same folder of
 * processes tells what the sandbox uses, for the watchdog.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TAG_BASE 0x53414e4400000000ull

int process_folder = -1;

/* A /proc of the agent's own, mounted nowhere: the one inside hides processes of other users and those that refuse to be
   looked at. It must be made while the host's lies in full view. */
bool tags_open(void) {
  int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
  if (context >= 0) {
    if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
      process_folder = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    close(context);
  }
  /* In a container nothing may be mounted, and its /proc hides nobody. */
  if (process_folder < 0) process_folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return process_folder >= 0;
}

/* By the child of a command, before it becomes its user. */
bool tag_set(unsigned number) {
  struct rlimit mark = {TAG_BASE + number, TAG_BASE + number};
  return setrlimit(RLIMIT_RTTIME, &mark) == 0;
}

static ssize_t read_of(const char *pid, const char *name, char *text, size_t room) {
  char path[48];
  snprintf(path, sizeof path, "%.16s/%s", pid, name);
  int fd = openat(process_folder, path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, text, room - 1);
  if (fd >= 0) close(fd);
  text[got > 0 ? got : 0] = 0;
  return got;
}

static bool has_tag(const char *pid, unsigned number) {
  char text[4096], memory[128];
  const char *line = read_of(pid, "limits", text, sizeof text) > 0 ? strstr(text, "Max realtime timeout") : NULL;
  if (line == NULL || strtoull(line + strlen("Max realtime timeout"), NULL, 10) != TAG_BASE + number) return false;
  return read_of(pid, "statm", memory, sizeof memory) > 0 && memory[0] != '0'; /* a dead one has no memory */
}

/* Every process but the agent, one after another; the folder is read anew each time. */
static DIR *open_processes(void) {
  int fd = process_folder < 0 ? -1 : openat(process_folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (fd >= 0 && folder == NULL) close(fd);
  return folder;
}

static const char *next_process(DIR *folder) {
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strcmp(entry->d_name, "1") != 0) return entry->d_name;
  return NULL;
}

size_t tag_pids(unsigned number, pid_t *out, size_t max) {
  DIR *folder = open_processes();
  size_t count = 0;
  if (folder == NULL) return 0;
  for (const char *pid; count < max && (pid = next_process(folder)) != NULL;)
    if (has_tag(pid, number)) out[count++] = (pid_t)atoi(pid);
  closedir(folder);
  return count;
}

/* What a process holds for itself: its share of pages where `is_exact` and the kernel lets it be seen, else all but files. */
static uint64_t memory_of(const char *pid, bool is_exact) {
  char text[1024];
  unsigned long long size = 0, resident = 0, shared = 0;
  if (is_exact && read_of(pid, "smaps_rollup", text, sizeof text) > 0) {
    const char *line = strstr(text, "Pss_Anon:"), *shmem = strstr(text, "Pss_Shmem:");
    if (line != NULL && shmem != NULL) return (strtoull(line + 9, NULL, 10) + strtoull(shmem + 10, NULL, 10)) * 1024;
  }
  if (read_of(pid, "statm", text, sizeof text) <= 0) return 0;
  if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || resident < shared) return 0;
  return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool process_usage(struct process_usage *to, bool is_exact) {
  DIR *folder = open_processes();
  *to = (struct process_usage){0};
  if (folder == NULL) return false;
  for (const char *pid; (pid = next_process(folder)) != NULL;) {
    uint64_t bytes = memory_of(pid, is_exact);
    to->count += bytes > 0;
    to->bytes += bytes;
    if (bytes < to->largest_bytes) continue;
    to->largest_bytes = bytes;
    to->largest = (pid_t)atoi(pid);
  }
  closedir(folder);
  return true;
}
