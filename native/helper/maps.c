/* The id maps of a sandbox: its uid 0 is SUB_UID outside, written by the zygote while the child waits. */
#define _GNU_SOURCE
#include "helper.h"
#include <fcntl.h>
#include <stdio.h>

static bool write_map(pid_t pid, const char *name) {
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  snprintf(text, sizeof text, "0 %d %d", SUB_UID, SUB_UID_COUNT);
  return write_text(AT_FDCWD, path, text);
}

bool maps_write(pid_t pid) { return write_map(pid, "uid_map") && write_map(pid, "gid_map"); }
