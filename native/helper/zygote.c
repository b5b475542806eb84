/*
 * The zygote: makes sandboxes on request and removes what they leave. It holds a copy of each sandbox's channel and
 * closes it last, so the other side reads "gone" only when processes and groups are gone. When its control pipe ends,
 * because the owner died or closed it, every sandbox dies with it and nothing stays behind.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITING_MAX 256
#define QUIET_MS 5 /* without anything to do, after which a blank is made */
#define CREATE_BYTES_MAX 8192

/* A connection before its sandbox, which has not sent its whole create frame yet, or after it, until the other side has
   read the last frame: closing a socket with unread bytes in it would take that frame away. */
struct waiting {
  int fd; /* -1: free */
  bool is_over;
  uint32_t have;
  uint8_t bytes[FRAME_HEADER + CREATE_BYTES_MAX];
};

static struct waiting waiting[WAITING_MAX] __attribute__((aligned(65536))); /* not copied to the sandboxes */
static char owner[128], run_folder[256];
static int run_parent = -1;
static bool allows_faults;
static char control_line[4096];
static size_t control_length;

/* The run folder is reached through its parent's descriptor: the zygote's own root no longer has it. */
static void remove_run_folder(void) {
  int folder = openat(run_parent, owner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    unlinkat(folder, "zygote.sock", 0);
    close(folder);
  }
  if (run_parent >= 0) unlinkat(run_parent, owner, AT_REMOVEDIR);
}

void zygote_abandon(const char *step) {
  printf("error %s: %s\n", step, strerror(errno));
  fflush(stdout);
  umount2(run_folder, MNT_DETACH); /* the staging root, if it got that far */
  groups_remove_owner();
  remove_run_folder();
  exit(1);
}

/* Boot, pid namespace, pid and start time say whether an owner still lives; a sweep trusts nothing else. */
static void name_owner(void) {
  char boot[64] = "", line[1024] = "", space[64] = "";
  unsigned random = 0;
  unsigned long long started = 0, inode = 0;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, boot, 8) != 8) zygote_abandon("read the boot id");
  close(fd);
  fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, line, sizeof line - 1) <= 0) zygote_abandon("read the start time");
  close(fd);
  char *rest = strrchr(line, ')'); /* the name may hold anything; the start time is the 20th field after it */
  for (int field = 0; rest != NULL && field < 20; field++) rest = strchr(rest + 1, ' ');
  if (rest != NULL) started = strtoull(rest, NULL, 10);
  if (readlink("/proc/self/ns/pid", space, sizeof space - 1) > 5) inode = strtoull(space + 5, NULL, 10);
  if (getrandom(&random, sizeof random, 0) < 0) zygote_abandon("read random bytes");
  snprintf(owner, sizeof owner, "sandlot-%.8s-%llu-%d-%llu-%08x", boot, inode, getpid(), started, random);
}

static struct waiting *free_slot(void) {
  for (int at = 0; at < WAITING_MAX; at++)
    if (waiting[at].fd < 0) return &waiting[at];
  return NULL;
}

void zygote_say_gone(int fd, int status, bool is_expired) {
  struct waiting *slot = free_slot();
  int payload[2] = {status, is_expired};
  frame_send_now(fd, 0, FRAME_GONE, payload, sizeof payload);
  shutdown(fd, SHUT_WR);
  if (slot == NULL) close(fd);
  else *slot = (struct waiting){.fd = fd, .is_over = true};
}

static void refuse(struct waiting *from, const char *why) {
  int fd = from->fd;
  from->fd = -1;
  frame_send_now(fd, 0, FRAME_ERROR, why, (uint32_t)strlen(why));
  zygote_say_gone(fd, 0, false);
}

static bool read_control(void);

static void create(struct waiting *from, uint32_t bytes) {
  struct box_request request;
  const char *text = (const char *)from->bytes + FRAME_HEADER;
  if (text[bytes - 1] != 0 || !request_parse(text, bytes, &request)) return refuse(from, "read the create frame");
  if (request.fault[0] != 0 && !allows_faults) return refuse(from, "read the create frame");
  enum layer_state state = layers_state(request.layers);
  /* The owner wrote of its layers before it asked for this; the pipe may not have been read since. */
  if (state == LAYERS_UNKNOWN && read_control()) state = layers_state(request.layers);
  if (state == LAYERS_UNKNOWN) return refuse(from, "find the layers");
  if (!machine_choose(&request)) return refuse(from, "describe the machine");
  int fd = from->fd;
  from->fd = -1;
  box_create(&request, fd);
}

static void trace(struct waiting *from, uint32_t bytes) {
  const char *text = (const char *)from->bytes + FRAME_HEADER;
  pid_t pid = text[bytes - 1] == 0 ? box_pid(text) : 0;
  if (pid == 0) return refuse(from, "find the sandbox");
  int fd = from->fd;
  from->fd = -1;
  trace_start(fd, pid, text, bytes);
}

/* Reads exactly one frame and not a byte more: what follows belongs to the agent. */
static void read_create(struct waiting *from) {
  if (from->is_over) {
    ssize_t got = recv(from->fd, from->bytes, sizeof from->bytes, MSG_DONTWAIT);
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
    close(from->fd);
    from->fd = -1;
    return;
  }
  uint32_t bytes = 0, want = FRAME_HEADER;
  uint16_t type = 0;
  for (;;) {
    if (from->have >= FRAME_HEADER) {
      memcpy(&bytes, from->bytes, 4);
      memcpy(&type, from->bytes + 8, 2);
      if ((type != FRAME_CREATE && type != FRAME_TRACE) || bytes == 0 || bytes > CREATE_BYTES_MAX) break;
      want = FRAME_HEADER + bytes;
    }
    if (from->have == want && want > FRAME_HEADER) {
      return type == FRAME_TRACE ? trace(from, bytes) : create(from, bytes);
    }
    ssize_t got = recv(from->fd, from->bytes + from->have, want - from->have, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) break;
    from->have += (uint32_t)got;
  }
  close(from->fd);
  from->fd = -1;
}

static void accept_all(int listener) {
  for (;;) {
    struct waiting *slot = free_slot();
    if (slot == NULL) return;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid()) {
      close(fd);
      continue;
    }
    slot->fd = fd;
    slot->have = 0;
    slot->is_over = false;
    read_create(slot);
  }
}

/* kill ID; lifetime ID MS; seal ID LAYER; drop LAYER; merge LAYER LAYER,LAYER…; copy LAYER ID. */
static void obey(char *line) {
  char *verb = strtok(line, " "), *first = strtok(NULL, " "), *second = strtok(NULL, " ");
  if (verb == NULL || first == NULL) return;
  if (strcmp(verb, "kill") == 0) box_kill(first);
  if (strcmp(verb, "drop") == 0) layer_drop(first);
  if (second == NULL) return;
  if (strcmp(verb, "seal") == 0 && !box_seal(first, second)) printf("layer %s failed\n", second);
  if (strcmp(verb, "lifetime") == 0) box_expire(first, strtoull(second, NULL, 10));
  if (strcmp(verb, "merge") == 0) layers_merge(first, second);
  if (strcmp(verb, "copy") == 0) box_copy(second, first);
  fflush(stdout);
}

/* Lines of the control pipe. False at its end. */
static bool read_control(void) {
  ssize_t got = read(0, control_line + control_length, sizeof control_line - 1 - control_length);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  control_length += (size_t)got;
  control_line[control_length] = 0;
  for (char *end; (end = strchr(control_line, '\n')) != NULL;) {
    *end = 0;
    obey(control_line);
    control_length -= (size_t)(end + 1 - control_line);
    memmove(control_line, end + 1, control_length + 1);
  }
  return control_length < sizeof control_line - 1;
}

static void leave(void) {
  box_kill(NULL);
  merges_kill();
  for (int tries = 0; boxes_are_left() && tries < 5000; tries++) {
    boxes_reap();
    usleep(boxes_clear() ? 500 : 1000);
  }
  groups_remove_owner();
  remove_run_folder();
  exit(0);
}

static int watch_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  /* A Ctrl-C in the owner's terminal must let the owner end things in order. */
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void serve(int listener, int signals) {
  struct pollfd polls[3 + WAITING_MAX];
  bool is_left = false;
  for (;;) {
    polls[0] = (struct pollfd){.fd = 0, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = signals, .events = POLLIN};
    polls[2] = (struct pollfd){.fd = free_slot() == NULL ? -1 : listener, .events = POLLIN};
    for (int at = 0; at < WAITING_MAX; at++)
      polls[3 + at] = (struct pollfd){.fd = waiting[at].fd, .events = POLLIN};
    int wait_ms = boxes_expire();
    bool wants_blank = !is_left && boxes_want_blank();
    if (wants_blank && (wait_ms < 0 || wait_ms > QUIET_MS)) wait_ms = QUIET_MS;
    int events = poll(polls, 3 + WAITING_MAX, is_left ? 1 : wait_ms);
    if (events < 0 && errno != EINTR) leave();
    if (events == 0 && wants_blank) boxes_make_blank();
    if (polls[1].revents != 0) {
      struct signalfd_siginfo info;
      while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM) leave();
      boxes_reap();
    }
    if (polls[0].revents != 0 && !read_control()) leave();
    for (int at = 0; at < WAITING_MAX; at++)
      if (polls[3 + at].revents != 0 && waiting[at].fd == polls[3 + at].fd && waiting[at].fd >= 0)
        read_create(&waiting[at]);
    if (polls[2].revents != 0) accept_all(listener);
    is_left = !boxes_clear();
  }
}

/* zygote RUN_PARENT STORE [--faults] [--blanks=COUNT]: prints "ready <owner> <socket> <groups>" or "error <why>", then serves. */
int zygote_main(int argc, char **argv) {
  unsigned blanks = 0;
  if (argc < 4) return 2;
  for (int at = 4; at < argc; at++) {
    if (strcmp(argv[at], "--faults") == 0) allows_faults = true;
    if (strncmp(argv[at], "--blanks=", 9) == 0) blanks = (unsigned)strtoul(argv[at] + 9, NULL, 10);
  }
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  setsid();
  prctl(PR_SET_NAME, "sandlot-zygote");
  umask(022);
  /* Whole pages only: what lies behind it belongs to the agents too. */
  madvise(waiting, sizeof waiting / 65536 * 65536, MADV_DONTFORK);
  for (int at = 0; at < WAITING_MAX; at++) waiting[at].fd = -1;
  name_owner();
  const char *failed = maps_enter();
  if (failed != NULL) zygote_abandon(failed);
  run_parent = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (run_parent < 0 || mkdirat(run_parent, owner, 0700) != 0) zygote_abandon("make the run folder");
  snprintf(run_folder, sizeof run_folder, "%s/%s", argv[2], owner);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char path[512];
  errno = ENAMETOOLONG;
  if (snprintf(path, sizeof path, "%s/zygote.sock", run_folder) >= (int)sizeof address.sun_path)
    zygote_abandon("name the socket (the run folder's path is too long)");
  strcpy(address.sun_path, path);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0)
    zygote_abandon("listen on the socket");
  groups_open(owner);
  int signals = watch_signals();
  fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
  staging_prepare(argv[3], run_folder);
  bool can_lend = layers_open();
  boxes_blanks(can_lend ? blanks : 0);
  printf("ready %s %s %s layers=%s\n", owner, address.sun_path, groups_report(), can_lend ? "sealed" : "none");
  fflush(stdout);
  serve(listener, signals);
  return 0;
}
