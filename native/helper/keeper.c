/*
 * Where there are no groups of ours, as in a container, each command gets a *keeper*: a process between the agent and the
 * command that the kernel makes the parent of everything orphaned below it. All that comes of a command, forked twice,
 * detached or not, thus stays below its keeper and can be found and ended; only root of the sandbox can break this, by
 * killing the keeper, and then all that lost its keeper is ended together.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_TRIES 20 /* of START_WAIT_NS each, until a keeper that does not answer is given up */
#define START_WAIT_NS 100000000L
#define PROCESSES_MAX 8192
#define SWEEPS_MAX 50

/* What a keeper tells, in memory it shares with the agent. */
struct kept_report {
  volatile int pid; /* of the command, once it is there; -1 where it could not be */
  volatile int is_done, is_empty; /* the command has ended; nothing else was left below it then */
  int status;
  struct rusage usage;
};

static struct leaf *kept; /* every leaf with a keeper that lives, or with processes that lost it */

struct leaf *keeper_take(void) {
  struct leaf *leaf = calloc(1, sizeof *leaf);
  void *report = mmap(NULL, sizeof(struct kept_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (leaf == NULL || report == MAP_FAILED) {
    free(leaf);
    return NULL;
  }
  leaf->report = report;
  leaf->folder = leaf->procs = leaf->kill = leaf->tasks = leaf->events = leaf->memory_events = leaf->memory_peak = -1;
  leaf->kept_next = kept;
  kept = leaf;
  return leaf;
}

static void forget(struct leaf *leaf) {
  for (struct leaf **at = &kept; *at != NULL; at = &(*at)->kept_next)
    if (*at == leaf) {
      *at = leaf->kept_next;
      break;
    }
  munmap(leaf->report, sizeof(struct kept_report));
  free(leaf);
}

/* Its job is over. The leaf lives on with its keeper, which ends with the last process below it. */
void keeper_give(struct leaf *leaf) {
  leaf->is_given = true;
  if (leaf->keeper == 0) forget(leaf);
}

__attribute__((noreturn)) static void keep(struct kept_report *report, int (*run)(void *), void *argument) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t command = fork();
  if (command == 0) {
    /* Under memory pressure the kernel is to choose a command and not the agent. */
    write_text(AT_FDCWD, "/proc/self/oom_score_adj", "500");
    _exit(run(argument));
  }
  prctl(PR_SET_NAME, "sandlot-keeper");
  syscall(SYS_close_range, 0, ~0u, 0); /* a pipe it kept open would never end */
  report->pid = command < 0 ? -1 : command;
  syscall(SYS_futex, &report->pid, FUTEX_WAKE, 1, NULL, NULL, 0);
  if (command < 0) _exit(1);
  for (;;) {
    int status;
    struct rusage usage;
    pid_t ended = wait4(-1, &status, 0, &usage);
    if (ended < 0 && errno == ECHILD) _exit(0);
    if (ended != command) continue;
    report->status = status;
    report->usage = usage;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {}
    report->is_empty = ended < 0 && errno == ECHILD;
    __atomic_store_n(&report->is_done, 1, __ATOMIC_RELEASE);
    kill(getppid(), SIGCHLD);
  }
}

/* The command's pid, or -1. It is a child of the keeper, and of the agent only once the keeper was killed. */
pid_t keeper_start(struct leaf *leaf, int (*run)(void *), void *argument) {
  struct kept_report *report = leaf->report;
  leaf->keeper = fork();
  if (leaf->keeper == 0) keep(report, run, argument);
  if (leaf->keeper < 0) return leaf->keeper = 0, -1;
  for (int tries = 0; report->pid == 0 && tries < START_TRIES; tries++) {
    struct timespec wait = {.tv_nsec = START_WAIT_NS};
    syscall(SYS_futex, &report->pid, FUTEX_WAIT, 0, &wait, NULL, 0);
  }
  if (report->pid > 0) return report->pid;
  kill(leaf->keeper, SIGKILL);
  return -1;
}

static void tell(struct leaf *leaf) {
  if (!__atomic_load_n(&leaf->report->is_done, __ATOMIC_ACQUIRE)) return;
  for (struct job *job = jobs; job != NULL; job = job->next)
    if (job->leaf == leaf && !job->is_reaped) return job_ended(job, leaf->report->status, &leaf->report->usage);
}

/* Commands that ended below their keepers since the last look. */
void keepers_tell(void) {
  for (struct leaf *leaf = kept; leaf != NULL; leaf = leaf->kept_next) tell(leaf);
}

/* True when the ended child of the agent was a keeper. One that was killed leaves its command to the agent. */
bool keeper_reaped(pid_t pid) {
  for (struct leaf *leaf = kept; leaf != NULL; leaf = leaf->kept_next) {
    if (leaf->keeper != pid) continue;
    leaf->keeper = 0;
    tell(leaf);
    leaf->is_lost = !leaf->report->is_done;
    if (leaf->is_given) forget(leaf);
    return true;
  }
  return false;
}

static bool is_keeper(pid_t pid) {
  for (const struct leaf *leaf = kept; leaf != NULL; leaf = leaf->kept_next)
    if (leaf->keeper == pid) return true;
  return false;
}

struct process {
  pid_t pid, parent;
  bool is_below;
};

static pid_t parent_of(int proc, const char *name) {
  char path[64], line[512];
  snprintf(path, sizeof path, "%.20s/stat", name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
  if (fd >= 0) close(fd);
  if (got <= 0) return -1;
  line[got] = 0;
  const char *rest = strrchr(line, ')'); /* the name before it may hold anything */
  char state;
  int parent;
  /* A zombie has ended; its parent's slowness is no life of its own. */
  return rest != NULL && sscanf(rest + 1, " %c %d", &state, &parent) == 2 && state != 'Z' ? parent : -1;
}

/* What lives below the keeper; of a lost keeper, everything that has none any more. */
size_t keeper_pids(const struct leaf *leaf, pid_t *out, size_t max) {
  static struct process all[PROCESSES_MAX];
  size_t count = 0, found = 0;
  if (leaf->keeper == 0 && !leaf->is_lost) return 0;
  DIR *proc = opendir("/proc");
  if (proc == NULL) return 0;
  for (struct dirent *entry; (entry = readdir(proc)) != NULL && count < PROCESSES_MAX;) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid <= 1 || is_keeper(pid)) continue;
    pid_t parent = parent_of(dirfd(proc), entry->d_name);
    if (parent < 0) continue;
    bool is_below = leaf->is_lost ? parent <= 1 : parent == leaf->keeper;
    all[count++] = (struct process){.pid = pid, .parent = parent, .is_below = is_below};
  }
  closedir(proc);
  for (bool grew = true; grew;) {
    grew = false;
    for (size_t at = 0; at < count; at++)
      for (size_t of = 0; !all[at].is_below && of < count; of++)
        if (all[of].is_below && all[of].pid == all[at].parent) grew = all[at].is_below = true;
  }
  for (size_t at = 0; at < count && found < max; at++)
    if (all[at].is_below) out[found++] = all[at].pid;
  return found;
}

size_t keeper_count(const struct leaf *leaf) {
  static pid_t pids[PROCESSES_MAX];
  if (leaf->report->is_done && leaf->report->is_empty) return 0;
  return keeper_pids(leaf, pids, PROCESSES_MAX);
}

/* Stopped first: what is stopped no longer forks, so the sweep cannot be outrun. */
void keeper_kill(const struct leaf *leaf) {
  static pid_t pids[PROCESSES_MAX];
  size_t before = 0;
  for (int round = 0; round < SWEEPS_MAX; round++) {
    size_t count = keeper_pids(leaf, pids, PROCESSES_MAX);
    for (size_t at = 0; at < count; at++) kill(pids[at], SIGSTOP);
    if (count <= before) break;
    before = count;
  }
  for (int round = 0; round < SWEEPS_MAX; round++) {
    size_t count = keeper_pids(leaf, pids, PROCESSES_MAX);
    if (count == 0) return;
    for (size_t at = 0; at < count; at++) kill(pids[at], SIGKILL);
    struct timespec moment = {.tv_nsec = 200000};
    if (round > 2) nanosleep(&moment, NULL);
  }
}
