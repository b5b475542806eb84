/*
 * The memory limit where no control group keeps it: the agent looks every few milliseconds, and when all processes
 * together hold more than the limit it ends the largest, as the kernel would. It is sampled and not enforced: what is
 * taken and given back between two looks is never seen, and the capabilities of the provider say so.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <signal.h>

#define LOOK_US 20000
#define IDLE_LOOK_US 250000

static uint64_t limit_bytes, peak_bytes, kills, next_us;

void watchdog_open(uint64_t memory_bytes) { limit_bytes = memory_bytes; }

static bool is_on(void) { return limit_bytes > 0 && process_folder >= 0 && groups.memory_now < 0; }

bool watchdog_usage(struct process_usage *to) {
  if (!is_on() || !process_usage(to, false)) return false;
  /* The cheap look counts pages shared since a fork once for each process, so it never says too little. */
  if (to->bytes > limit_bytes && !process_usage(to, true)) return false;
  if (to->bytes > peak_bytes) peak_bytes = to->bytes;
  return true;
}

uint64_t watchdog_peak(void) { return peak_bytes; }

uint64_t watchdog_tick(uint64_t now) {
  struct process_usage usage;
  if (!is_on()) return UINT64_MAX;
  if (now < next_us) return next_us;
  if (watchdog_usage(&usage) && usage.bytes > limit_bytes && usage.largest > 1 && kill(usage.largest, SIGKILL) == 0) kills++;
  return next_us = now + (jobs == NULL ? IDLE_LOOK_US : LOOK_US);
}

/* Kills for want of memory so far: the kernel's count, or the watchdog's where the kernel counts none. */
uint64_t oom_kills(void) { return groups.oom_events >= 0 ? read_counter(groups.oom_events, "oom_kill") : kills; }
