/*
 * The recorder of a sandbox, on the host's side: a process of the zygote, outside of all that the sandbox can name, that
 * the kernel tells (fanotify) which programs are started on the sandbox's mounts, who opens or writes a watched file, and
 * who opens another process's secrets in /proc. It keeps nothing and stops nobody: what comes too fast is counted.
 *
 * It asks only about mounts of this one sandbox, and goes when the sandbox's first process or its reader has gone. Only
 * root of the machine may ask; elsewhere the answer is an error frame.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WATCHED_MAX 64
#define FOLDERS_MAX 1024 /* below the watched paths, all together */
#define WORDS_BYTES 1024
#define PATH_BYTES 4096
#define TOLD_MAX 6000   /* events told in all */
#define SAME_MAX 8      /* the same event is told so often */
#define SEEN_SLOTS 8192 /* a power of two */
#define URGENT_MAX 20000 /* events; then the recorder takes its time */
#define KNOWN_MAX 256   /* processes whose numbers inside are remembered */
#define LATE_MAX 64     /* execs are told before they have happened: so many wait for their words, */
#define LATE_US 20000   /* each for so long */

static int channel, proc, fan;
static pid_t box;
static const char *watched[WATCHED_MAX];
static int watched_count;
static unsigned folders, told, lost, lost_told;
static uint64_t began_us;
static uint64_t seen[SEEN_SLOTS];
static uint8_t seen_count[SEEN_SLOTS];
static struct late {
  char *path;
  pid_t pid;
  uint64_t at_us;
} late[LATE_MAX];
static int late_count;
static struct { pid_t pid; uint32_t inside; } known[KNOWN_MAX];
static unsigned handled;

/* A short program must be looked at while there is one, which takes microseconds. Who makes many events is not to be worked
   for at that price. */
static void hurry(bool is_urgent) {
  struct sched_param param = {.sched_priority = is_urgent ? 1 : 0};
  sched_setscheduler(0, is_urgent ? SCHED_FIFO : SCHED_OTHER, &param);
  setpriority(PRIO_PROCESS, 0, is_urgent ? -10 : 10);
}

static bool is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static bool is_watched(const char *path) {
  for (int at = 0; at < watched_count; at++)
    if (is_below(path, watched[at])) return true;
  return false;
}

/* Whatever the sandbox has made of its tree: no link is followed, and nothing outside of it is reached. */
static int open_beneath(int root, const char *path, int flags) {
  struct open_how how = {.flags = (uint64_t)(flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW),
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
  return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static void mark_tree(int fd) {
  const uint64_t events = FAN_OPEN | FAN_CLOSE_WRITE;
  struct stat info;
  bool is_folder = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  if (!is_folder) {
    if (S_ISREG(info.st_mode)) fanotify_mark(fan, FAN_MARK_ADD, events, fd, NULL);
    close(fd);
    return;
  }
  if (++folders > FOLDERS_MAX) {
    lost++;
    close(fd);
    return;
  }
  fanotify_mark(fan, FAN_MARK_ADD, events | FAN_EVENT_ON_CHILD, fd, NULL);
  DIR *folder = fdopendir(fd);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    int below = open_beneath(dirfd(folder), entry->d_name, O_DIRECTORY);
    if (below >= 0) mark_tree(below);
  }
  if (folder != NULL) closedir(folder);
  else close(fd);
}

/* Every mount that the sandbox sees, each of which belongs to it alone. */
static bool mark_mounts(void) {
  char name[64], line[PATH_BYTES * 2], path[PATH_BYTES], kind[64], to[PATH_BYTES + 64];
  int marked = 0;
  snprintf(name, sizeof name, "/proc/%d/mountinfo", box);
  FILE *mounts = fopen(name, "re");
  while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
    const char *rest = strstr(line, " - ");
    if (rest == NULL || sscanf(line, "%*d %*d %*s %*s %4095s", path) != 1 || sscanf(rest, " - %63s", kind) != 1) continue;
    struct stat info;
    snprintf(to, sizeof to, "/proc/%d/root%s", box, path);
    if (lstat(to, &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    bool is_proc = strcmp(kind, "proc") == 0;
    uint64_t events = is_proc ? FAN_OPEN : FAN_OPEN_EXEC;
    marked += fanotify_mark(fan, FAN_MARK_ADD | FAN_MARK_MOUNT | FAN_MARK_DONT_FOLLOW, events, AT_FDCWD, to) == 0;
  }
  if (mounts != NULL) fclose(mounts);
  return marked > 0;
}

static void mark_watched(void) {
  char root[64];
  snprintf(root, sizeof root, "/proc/%d/root", box);
  int top = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int at = 0; top >= 0 && at < watched_count; at++) {
    int fd = watched[at][0] == '/' && watched[at][1] != 0 ? open_beneath(top, watched[at] + 1, 0) : -1;
    if (fd >= 0) mark_tree(fd);
  }
  if (top >= 0) close(top);
}

static ssize_t read_of(pid_t pid, const char *name, char *to, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "%d/%s", pid, name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, to, room);
  if (fd >= 0) close(fd);
  return got;
}

/* As the sandbox numbers it: the last number of the line. 0 when it has gone. */
static uint32_t pid_inside(pid_t pid) {
  char text[2048];
  ssize_t got = read_of(pid, "status", text, sizeof text - 1);
  typeof(*known) *memory = &known[(unsigned)pid % KNOWN_MAX];
  if (got <= 0) return memory->pid == pid ? memory->inside : 0;
  text[got] = 0;
  const char *line = strstr(text, "\nNSpid:");
  if (line == NULL) return 0;
  const char *end = strchr(line + 1, '\n'), *number = end;
  while (number != NULL && number > line && number[-1] != '\t' && number[-1] != ' ') number--;
  if (number == NULL) return 0;
  memory->pid = pid;
  return memory->inside = (uint32_t)strtoul(number, NULL, 10);
}

static bool names_word(const char *words, size_t length, const char *path) {
  for (size_t at = 0; at < length; at += strlen(words + at) + 1)
    if (strcmp(words + at, path) == 0) return true;
  return false;
}

/* Its words once it is that program, or an interpreter that was given it; 0 when it is not yet, -1 when it has gone. */
static int words_of(pid_t pid, const char *path, char *to) {
  char name[64], exe[PATH_BYTES];
  snprintf(name, sizeof name, "%d/exe", pid);
  ssize_t length = readlinkat(proc, name, exe, sizeof exe - 1);
  ssize_t got = length < 0 ? -1 : read_of(pid, "cmdline", to, WORDS_BYTES - 1);
  if (got <= 0) return (int)got; /* half-way through its exec it has none */
  exe[length] = 0;
  to[got] = 0;
  return strcmp(exe, path) == 0 || names_word(to, (size_t)got, path) ? (int)got : 0;
}

static bool is_often(char kind, const char *path, const char *words, size_t length) {
  uint64_t hash = 1469598103934665603u ^ (uint8_t)kind;
  for (const char *at = path; *at != 0; at++) hash = (hash ^ (uint8_t)*at) * 1099511628211u;
  for (size_t at = 0; at < length; at++) hash = (hash ^ (uint8_t)words[at]) * 1099511628211u;
  for (size_t step = 0; step < 8; step++) {
    size_t slot = (hash + step) & (SEEN_SLOTS - 1);
    if (seen[slot] != hash && seen_count[slot] != 0) continue;
    seen[slot] = hash;
    if (seen_count[slot] >= SAME_MAX) return true;
    seen_count[slot]++;
    return false;
  }
  return false;
}

/* Waits a little for a reader that is behind; then the event is lost, and counted. */
static bool send_record(const uint8_t *frame, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    ssize_t sent = send(channel, frame + at, bytes - at, MSG_NOSIGNAL | (at == 0 ? MSG_DONTWAIT : 0));
    if (sent > 0) {
      at += (size_t)sent;
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent == 0 || errno != EAGAIN || at > 0) _exit(0);
    struct pollfd ready = {.fd = channel, .events = POLLOUT};
    if (poll(&ready, 1, 100) <= 0) return false;
  }
  return true;
}

/* u8 kind, u8 0, u16 bytes of the path, u16 of the words, u16 0, u32 pid, u64 microseconds since the trace began, the path,
   the words with a NUL after each. */
static void tell(char kind, pid_t pid, uint64_t at_us, const char *path, const char *words, size_t words_bytes) {
  static uint8_t frame[FRAME_HEADER + 20 + PATH_BYTES + WORDS_BYTES];
  if (is_often(kind, path, words, words_bytes)) return;
  if (told == TOLD_MAX) {
    lost++;
    return;
  }
  uint16_t lengths[3] = {(uint16_t)strlen(path), (uint16_t)words_bytes, 0};
  uint32_t inside = pid_inside(pid), bytes = 20u + lengths[0] + lengths[1];
  uint8_t *to = frame + FRAME_HEADER;
  frame_header(frame, bytes, 0, FRAME_OUTPUT, 0);
  to[0] = (uint8_t)kind;
  to[1] = 0;
  memcpy(to + 2, lengths, sizeof lengths);
  memcpy(to + 8, &inside, 4);
  memcpy(to + 12, &at_us, 8);
  memcpy(to + 20, path, lengths[0]);
  memcpy(to + 20 + lengths[0], words, lengths[1]);
  if (send_record(frame, FRAME_HEADER + bytes)) told++;
  else lost++;
}

/* Of a process other than the one that looks, what only its owner should know. */
static bool is_secret_of_another(const char *path, pid_t pid) {
  unsigned long whose = 0;
  int length = 0;
  if (sscanf(path, "/proc/%lu/%n", &whose, &length) != 1 || length == 0) return false;
  const char *name = path + length;
  if (strcmp(name, "environ") != 0 && strcmp(name, "mem") != 0 && strcmp(name, "maps") != 0) return false;
  uint32_t inside = pid_inside(pid);
  return inside != 0 && inside != whose;
}

/* True once it was told: with its words, or without where they will never be had. */
static bool tell_exec(pid_t pid, uint64_t at_us, const char *path, bool is_last_try) {
  char words[WORDS_BYTES];
  int bytes = words_of(pid, path, words);
  if (bytes == 0 && !is_last_try) return false;
  tell('x', pid, at_us, path, words, bytes > 0 ? (size_t)bytes : 0);
  return true;
}

static void take_exec(pid_t pid, const char *path) {
  uint64_t at_us = clock_us() - began_us;
  pid_inside(pid);
  if (tell_exec(pid, at_us, path, late_count == LATE_MAX)) return;
  char *copy = strdup(path);
  if (copy == NULL) lost++;
  else late[late_count++] = (struct late){copy, pid, at_us};
}

static void take_late(bool is_last_try) {
  uint64_t now = clock_us() - began_us;
  int left = 0;
  for (int at = 0; at < late_count; at++) {
    struct late one = late[at];
    if (tell_exec(one.pid, one.at_us, one.path, is_last_try || now > one.at_us + LATE_US)) free(one.path);
    else late[left++] = one;
  }
  late_count = left;
}

static void take(const struct fanotify_event_metadata *event) {
  char link[64], path[PATH_BYTES];
  uint64_t now = clock_us() - began_us;
  if (event->mask & FAN_Q_OVERFLOW) lost++;
  if (++handled == URGENT_MAX) hurry(false);
  if (event->fd < 0) return;
  snprintf(link, sizeof link, "self/fd/%d", event->fd);
  ssize_t length = readlinkat(proc, link, path, sizeof path - 1);
  close(event->fd);
  if (length <= 0) return;
  path[length] = 0;
  if (event->mask & FAN_OPEN_EXEC) {
    const char *name = strrchr(path, '/');
    /* Not the loader of the program that was told already. */
    if (name != NULL && strncmp(name, "/ld-", 4) != 0) take_exec(event->pid, path);
  }
  /* The kernel makes one event of several, where they are of one process and file. */
  if (strncmp(path, "/proc/", 6) == 0) {
    if (is_secret_of_another(path, event->pid)) tell('o', event->pid, now, path, "", 0);
  } else if (is_watched(path)) {
    if (event->mask & FAN_OPEN) tell('o', event->pid, now, path, "", 0);
    if (event->mask & FAN_CLOSE_WRITE) tell('w', event->pid, now, path, "", 0);
  }
}

static void take_all(void) {
  static _Alignas(struct fanotify_event_metadata) char buffer[16384];
  for (;;) {
    ssize_t got = read(fan, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR)) continue;
    if (got < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) lost++;
    if (got < 0 && errno != EAGAIN && errno != EBADF) continue; /* one whose file, of a process that has gone, is no more */
    if (got <= 0) break;
    const struct fanotify_event_metadata *event = (const struct fanotify_event_metadata *)buffer;
    for (; FAN_EVENT_OK(event, got); event = FAN_EVENT_NEXT(event, got)) take(event);
  }
  if (lost == lost_told) return;
  uint8_t frame[FRAME_HEADER + 4];
  frame_header(frame, 4, 0, FRAME_CREDIT, 0);
  memcpy(frame + FRAME_HEADER, &lost, 4);
  if (send_record(frame, sizeof frame)) lost_told = lost;
}

/* A reader that asks has everything from before it asked once this is answered, and the time by the recorder's clock. */
static void answer(void) {
  char byte;
  uint8_t frame[FRAME_HEADER + 8];
  ssize_t got = read(channel, &byte, 1);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) _exit(0);
  take_all();
  take_late(true);
  uint64_t now = clock_us() - began_us;
  frame_header(frame, 8, 0, FRAME_REPLY, 0);
  memcpy(frame + FRAME_HEADER, &now, 8);
  send_record(frame, sizeof frame);
}

__attribute__((noreturn)) static void refuse(const char *step) {
  char text[256];
  int bytes = snprintf(text, sizeof text, "%s: %s", step, strerror(errno));
  frame_send_now(channel, 0, FRAME_ERROR, text, (uint32_t)bytes);
  _exit(1);
}

/* The zygote's descriptors would hide the end of its owner and of other sandboxes. */
static void keep_only(int *kept[3]) {
  for (int at = 0; at < 3; at++) *kept[at] = fcntl(*kept[at], F_DUPFD_CLOEXEC, 1000);
  for (int at = 0; at < 3; at++) *kept[at] = dup3(*kept[at], 3 + at, O_CLOEXEC);
  syscall(SYS_close_range, 6, ~0u, 0);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; fd++) dup2(nothing, fd);
}

__attribute__((noreturn)) static void record(int given, pid_t pid) {
  channel = given;
  box = pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "sandlot-trace");
  hurry(true);
  proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int alive = (int)syscall(SYS_pidfd_open, pid, 0);
  if (proc < 0 || alive < 0) refuse("find the sandbox");
  keep_only((int *[3]){&channel, &proc, &alive});
  fcntl(channel, F_SETFL, fcntl(channel, F_GETFL) & ~O_NONBLOCK);
  fan = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC | O_LARGEFILE | O_NONBLOCK);
  if (fan < 0) refuse("open fanotify");
  if (!mark_mounts()) refuse("mark the sandbox's mounts");
  mark_watched();
  began_us = clock_us();
  frame_send_now(channel, 0, FRAME_READY, NULL, 0);
  for (;;) {
    struct pollfd polls[3] = {{.fd = fan, .events = POLLIN}, {.fd = channel, .events = POLLIN}, {.fd = alive, .events = POLLIN}};
    /* A short program is gone within a millisecond. */
    struct timespec soon = {.tv_nsec = late_count > 0 && clock_us() - began_us < late[late_count - 1].at_us + 2000 ? 150000 : 1000000};
    if (ppoll(polls, 3, late_count > 0 ? &soon : NULL, NULL) < 0 && errno != EINTR) _exit(1);
    take_all();
    take_late(polls[2].revents != 0);
    if (polls[1].revents != 0) answer();
    if (polls[2].revents != 0) _exit(0);
  }
}

/* `text` is the sandbox's name, then the watched paths, each with a NUL after it. Takes the channel over. */
void trace_start(int given, pid_t pid, const char *text, size_t bytes) {
  char *copy = malloc(bytes); /* what the zygote reads into is not the child's */
  pid_t child = -1;
  if (copy != NULL) {
    memcpy(copy, text, bytes);
    child = fork();
  }
  if (child == 0) {
    for (size_t at = strlen(copy) + 1; at < bytes && watched_count < WATCHED_MAX; at += strlen(copy + at) + 1)
      watched[watched_count++] = copy + at;
    record(given, pid);
  }
  free(copy);
  close(given);
}
