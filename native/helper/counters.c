/* The kernel's own counters of this sandbox, the only source for "out of memory" and "too many processes". */
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

uint64_t read_counter(int fd, const char *key) {
  char text[2048];
  ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
  if (got <= 0) return 0;
  text[got] = 0;
  if (key == NULL) return strtoull(text, NULL, 10);
  size_t length = strlen(key);
  for (char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, key, length) == 0 && line[length] == ' ') return strtoull(line + length, NULL, 10);
  }
  return 0;
}

/* Microseconds the processor quota held commands back: of v2, or nanoseconds of v1's own file. */
static uint64_t throttled_us(void) {
  if (groups.cpu_events >= 0) return read_counter(groups.cpu_events, "throttled_time") / 1000;
  return groups.cpu_stat < 0 ? UINT64_MAX : read_counter(groups.cpu_stat, "throttled_usec");
}

static uint64_t counter_of(int fd, const char *key) { return fd < 0 ? UINT64_MAX : read_counter(fd, key); }

/* Eight u64; all ones where this host has no such counter. */
void send_stats(uint32_t channel) {
  struct statfs disk;
  struct process_usage usage;
  bool has_disk = !groups.counts_agent && statfs("/", &disk) == 0, is_watched = watchdog_usage(&usage);
  uint64_t files = has_disk && upper_folder >= 0 ? (uint64_t)(disk.f_files - disk.f_ffree) : UINT64_MAX;
  uint64_t values[8] = {
      counter_of(groups.cpu_stat, "usage_usec"),
      is_watched ? usage.bytes : counter_of(groups.memory_now, NULL),
      is_watched ? watchdog_peak() : counter_of(groups.memory_peak, NULL),
      has_disk ? (uint64_t)(disk.f_blocks - disk.f_bfree) * (uint64_t)disk.f_bsize : UINT64_MAX,
      is_watched && groups.pids_now < 0 ? usage.count
      : groups.pids_now < 0             ? UINT64_MAX
                                        : read_counter(groups.pids_now, NULL) - (groups.counts_agent ? 1 : 0),
      is_watched || groups.oom_events >= 0 ? oom_kills() : UINT64_MAX,
      throttled_us(),
      files == UINT64_MAX ? files : files > storage_files ? files - storage_files : 0,
  };
  send_frame(channel, FRAME_REPLY, 0, values, sizeof values);
}
