/*
 * Expected: each line "<what> <amount>" stays below its bound: mlock 8 MiB, huge 0, shm the limit of memory, queues 1024,
 * keys 0, watchers 16, watches 8192, terminals 128, contexts of asynchronous input and output 0, pipes and files 4096,
 * core 0. Takes as much as it can of everything that is not a page of a file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ul << 20)

static unsigned long locked(void) {
  unsigned long had = 0;
  for (; had < 64; had++) {
    void *page = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mlock(page, MIB) != 0) break;
  }
  return had;
}

static unsigned long huge(void) {
  unsigned long had = 0;
  for (; had < 4; had++)
    if (mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0) == MAP_FAILED) break;
  return had;
}

static unsigned long shared(void) {
  unsigned long had = 0;
  for (; had < 1024; had++) {
    int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
    void *at = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
    if (at == (void *)-1) break;
    shmctl(id, IPC_RMID, NULL); /* goes with the process */
    memset(at, 1, MIB);
  }
  return had;
}

static unsigned long queues(void) {
  char name[32];
  unsigned long had = 0;
  for (; had < 2000; had++) {
    snprintf(name, sizeof name, "/q%lu", had);
    if (mq_open(name, O_CREAT | O_RDWR, 0600, NULL) < 0) break;
  }
  return had;
}

static unsigned long keys(void) {
  unsigned long had = 0;
  for (; had < 1000; had++) {
    char name[32];
    snprintf(name, sizeof name, "k%lu", had);
    if (syscall(SYS_add_key, "user", name, "x", 1, -3) < 0) break;
  }
  return had;
}

static unsigned long watchers(void) {
  unsigned long had = 0;
  while (had < 1000 && inotify_init1(O_CLOEXEC) >= 0) had++;
  return had;
}

/* Each file can be watched once by each watcher. */
static unsigned long watches(void) {
  unsigned long had = 0;
  int watcher;
  while (had < 20000 && (watcher = inotify_init1(O_CLOEXEC)) >= 0)
    for (int at = 0; at < 1500; at++) {
      char name[32];
      snprintf(name, sizeof name, "/tmp/w%d", at);
      int file = open(name, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
      if (file < 0 || inotify_add_watch(watcher, name, IN_MODIFY) < 0) break;
      close(file);
      had++;
    }
  return had;
}

static unsigned long terminals(void) {
  unsigned long had = 0;
  while (had < 1000 && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0) had++;
  return had;
}

static unsigned long contexts(void) {
  unsigned long had = 0, context = 0;
  for (; had < 16 && syscall(SYS_io_setup, 64, &context) == 0; had++) context = 0;
  return had;
}

static unsigned long files(void) {
  unsigned long had = 0;
  while (had < 100000 && open("/dev/null", O_RDONLY) >= 0) had++;
  return had;
}

static unsigned long pipes(void) {
  unsigned long had = 0;
  int ends[2];
  while (had < 100000 && pipe(ends) == 0) had++;
  return had;
}

/* Each in a child of its own, so that none stands in the way of the next. */
static void measure(const char *what, unsigned long (*take)(void)) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    printf("%s %lu\n", what, take());
    fflush(stdout);
    _exit(0);
  }
  int status;
  if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status)) printf("%s 0\n", what); /* ended by the limit of memory */
}

/* Whether the limit of cores can be changed, also by a pointer whose lower half is that of null. */
static int core_limit_moves(void) {
  struct rlimit before = {9, 9}, after = {9, 9};
  struct rlimit *tricky = mmap((void *)0x100000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  getrlimit(RLIMIT_CORE, &before);
  if (before.rlim_max == 0 || tricky == MAP_FAILED) return 0;
  *tricky = (struct rlimit){0, 0};
  syscall(SYS_prlimit64, 0, RLIMIT_CORE, tricky, NULL);
  getrlimit(RLIMIT_CORE, &after);
  return after.rlim_max != before.rlim_max;
}

static void dump(void) {
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, none = {0, 0};
  int status = 0;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    setrlimit(RLIMIT_CORE, &all);
    setrlimit(RLIMIT_CORE, &none);
    abort();
  }
  waitpid(pid, &status, 0);
  printf("core %d\n", (WCOREDUMP(status) ? 1 : 0) + core_limit_moves());
}

int main(void) {
  measure("mlock", locked);
  measure("huge", huge);
  measure("shm", shared);
  measure("queues", queues);
  measure("keys", keys);
  measure("watchers", watchers);
  measure("watches", watches);
  measure("terminals", terminals);
  measure("contexts", contexts);
  measure("files", files);
  measure("pipes", pipes);
  dump();
  return 0;
}
