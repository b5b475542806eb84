/*
 * The file operations, each run as a job of its own: a child in the group of the commands, so the sandbox's limits
 * hold for them and PID 1 never touches a path the policy made. Links are followed inside the sandbox's root only,
 * and nothing of /proc is given out. Content goes through standard input and output; the exit code is the answer.
 */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

void end(enum answer answer) {
  if (answer == DONE) out_flush();
  _exit(answer);
}

enum answer why(int error) {
  switch (error) {
    case ENOENT: return MISSING;
    case ENOTDIR: return NOT_FOLDER;
    case EISDIR: return IS_FOLDER;
    case ELOOP: return REFUSED_LINK;
    case ENAMETOOLONG: return INVALID_PATH;
    case EINVAL: return INVALID_PATH;
    case ENOSPC: return NO_SPACE;
    case EDQUOT: return NO_SPACE;
    case ENXIO: return NOT_REGULAR; /* a socket, or a FIFO without a reader */
    case ENOTEMPTY: return IS_FOLDER;
    case EMFILE: return TOO_LARGE;
    case EFBIG: return TOO_LARGE;
    default: return DENIED;
  }
}

bool is_proc(int fd) {
  struct statfs system;
  return fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Opens inside the sandbox's root, whatever links are on the way; magic links and /proc are refused. */
int open_inside(int root, const char *path, uint64_t flags) {
  struct open_how how = {.flags = flags | O_CLOEXEC,
                         .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  int fd;
  /* A rename or a mount elsewhere in the tree can make the walk uncertain, and the kernel asks to try again. */
  for (int tries = 0; tries < 64; tries++) {
    fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 || errno != EAGAIN) break;
  }
  if (fd >= 0 && is_proc(fd)) {
    close(fd);
    errno = ELOOP;
    return -1;
  }
  if (fd < 0 && errno == EXDEV) errno = ELOOP;
  return fd;
}

/* Where the sandbox has one id only, giving to that one must not fail for being no change. */
bool give_to(int fd, uid_t uid, gid_t gid) {
  struct stat info;
  if (fstat(fd, &info) != 0) return false;
  if (info.st_uid == uid && info.st_gid == gid) return true;
  if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH) == 0) return true;
  if (errno == EINVAL) errno = EPERM; /* an id the sandbox has not */
  return false;
}

/* The folder at `path`, made with what is missing above it; what it makes belongs to `uid`. */
int make_folders(int root, const char *path, mode_t mode, uid_t uid, gid_t gid) {
  char so_far[PATH_BYTES_MAX];
  int folder = open_inside(root, "/", O_PATH | O_DIRECTORY);
  for (const char *at = path; folder >= 0;) {
    at += strspn(at, "/");
    if (*at == 0) return folder;
    const char *name = at;
    at += strcspn(at, "/");
    size_t length = (size_t)(at - path);
    if (length >= sizeof so_far) end(INVALID_PATH);
    memcpy(so_far, path, length);
    so_far[length] = 0;
    int next = open_inside(root, so_far, O_PATH | O_DIRECTORY);
    if (next < 0 && errno == ENOENT) {
      bool is_last = at[strspn(at, "/")] == 0;
      bool is_made = mkdirat(folder, so_far + (name - path), is_last ? mode : 0755) == 0;
      if (!is_made && errno != EEXIST) end(why(errno));
      next = open_inside(root, so_far, O_PATH | O_DIRECTORY);
      if (is_made && next >= 0 && !give_to(next, uid, gid)) end(why(errno));
    }
    close(folder);
    folder = next;
  }
  return folder;
}

int open_parent(int root, char *path, const char **name) {
  for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';) path[--length] = 0;
  char *slash = strrchr(path, '/');
  *name = slash + 1;
  if (**name == 0 || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) end(INVALID_PATH);
  if (slash == path) return open_inside(root, "/", O_PATH | O_DIRECTORY);
  *slash = 0;
  int folder = open_inside(root, path, O_PATH | O_DIRECTORY);
  *slash = '/';
  return folder;
}

void temporary_name(char *to, size_t room) {
  snprintf(to, room, TEMPORARY "%d-%llu", getpid(), (unsigned long long)clock_us());
}

/* At most `most` bytes from `offset`; where the whole file is wanted, more is an error. */
static void read_file(int root, const char *path, uint64_t offset, uint64_t most, bool is_whole) {
  static uint8_t buffer[PAYLOAD_MAX];
  struct stat info;
  /* First without opening for reading: a device or a FIFO must not notice, and must not block. */
  int handle = open_inside(root, path, O_PATH);
  if (handle < 0 || fstat(handle, &info) != 0) end(why(errno));
  if (S_ISDIR(info.st_mode)) end(IS_FOLDER);
  if (!S_ISREG(info.st_mode)) end(NOT_REGULAR);
  int fd = open_inside(root, path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) end(why(errno));
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) end(NOT_REGULAR);
  if (is_whole && (uint64_t)info.st_size > most) end(TOO_LARGE);
  if (offset > INT64_MAX) end(DONE);
  for (uint64_t sent = 0;;) {
    uint64_t left = most - sent;
    size_t want = !is_whole && left < sizeof buffer ? (size_t)left : sizeof buffer;
    ssize_t got = want == 0 ? 0 : pread(fd, buffer, want, (off_t)(offset + sent));
    if (got < 0) end(why(errno));
    if (got == 0) end(DONE);
    sent += (uint64_t)got;
    if (sent > most) end(TOO_LARGE);
    out_bytes(buffer, (size_t)got);
  }
}

/* Standard input to its end; the answer is why it could not be written. */
static enum answer copy_input(int fd) {
  static uint8_t buffer[PAYLOAD_MAX];
  for (;;) {
    ssize_t got = read(0, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? DENIED : DONE;
    for (ssize_t at = 0; at < got;) {
      ssize_t written = write(fd, buffer + at, (size_t)(got - at));
      if (written < 0) return why(errno);
      at += written;
    }
  }
}

static void write_file(int root, char *path, mode_t mode, uid_t uid, gid_t gid) {
  char temporary[64];
  struct stat info;
  char *slash = strrchr(path, '/');
  const char *name = slash + 1;
  if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) end(IS_FOLDER);
  *slash = 0;
  int folder = make_folders(root, path, 0755, uid, gid);
  if (folder < 0) end(why(errno));
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode)) end(IS_FOLDER);
  temporary_name(temporary, sizeof temporary);
  int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) end(why(errno));
  enum answer failed = copy_input(fd);
  /* The owner first: changing it would clear setuid bits the caller asked for. */
  if (failed == DONE && (!give_to(fd, uid, gid) || fchmod(fd, mode & 07777) != 0)) failed = why(errno);
  if (failed == DONE && renameat(folder, temporary, folder, name) != 0) failed = why(errno);
  if (failed != DONE) unlinkat(folder, temporary, 0);
  end(failed);
}

static void make_folder(int root, const char *path, mode_t mode, uid_t uid, gid_t gid) {
  end(make_folders(root, path, mode, uid, gid) < 0 ? why(errno) : DONE);
}

static int by_number(const void *one, const void *two) { return *(const int *)one - *(const int *)two; }

/* No exec will close them, and an operation's own input would never end while it held the other side. What looks at the
   sandbox's layer keeps the folders of it; no path leads there. */
void close_others(uint8_t kind) {
  int kept[1024], count = 0;
  if (kind == JOB_DIFF || kind == JOB_LAYER) {
    if (upper_folder >= 0) kept[count++] = upper_folder;
    for (int at = 0; at < lower_count && count < 1024; at++) kept[count++] = lower_folders[at];
    qsort(kept, (size_t)count, sizeof *kept, by_number);
  }
  unsigned from = 3;
  for (int at = 0; at < count; at++) {
    if ((unsigned)kept[at] > from) syscall(SYS_close_range, from, (unsigned)kept[at] - 1, 0);
    from = (unsigned)kept[at] + 1;
  }
  syscall(SYS_close_range, from, ~0u, 0);
}

static uint64_t number(const char *text, int base) { return strtoull(text, NULL, base); }

void file_operation(const struct exec_request *request) {
  char **given = request->argv;
  uint32_t count = request->argc;
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0 || count < 1 || given[0][0] != '/') end(INVALID_PATH);
  umask(0);
  switch (request->kind) {
    case JOB_READ:
      if (count == 2) read_file(root, given[0], 0, number(given[1], 10), true);
      break;
    case JOB_READ_RANGE:
      if (count == 3) read_file(root, given[0], number(given[1], 10), number(given[2], 10), false);
      break;
    case JOB_WRITE:
      if (count == 2) write_file(root, given[0], (mode_t)number(given[1], 8), request->uid, request->gid);
      break;
    case JOB_LIST:
      if (count == 3) list_tree(root, given[0], given[1][0] == '1', number(given[2], 10));
      break;
    case JOB_STAT: stat_entry(root, given[0]);
    case JOB_MKDIR:
      if (count == 2) make_folder(root, given[0], (mode_t)number(given[1], 8) & 07777, request->uid, request->gid);
      break;
    case JOB_RENAME:
      if (count == 2 && given[1][0] == '/') rename_entry(root, given[0], given[1]);
      break;
    case JOB_REMOVE:
      if (count == 2) remove_entry(root, given[0], given[1][0] == '1');
      break;
    case JOB_CHMOD:
      if (count == 2) chmod_entry(root, given[0], (mode_t)number(given[1], 8) & 07777);
      break;
    case JOB_UPLOAD:
      if (count == 3) upload_tree(request, root);
      break;
    case JOB_DOWNLOAD:
      if (count == 3) download_tree(root, given[0], number(given[1], 10), number(given[2], 10));
      break;
    case JOB_WATCH: watch_tree(root, given[0]);
    case JOB_DIFF:
      if (count == 2) diff_layer(number(given[1], 10));
      break;
    case JOB_LAYER: export_layer();
    default: break;
  }
  end(INVALID_PATH);
}
