/*
 * The file operations, each run as a job of its own: a child in the group of the commands, so the sandbox's limits
 * hold for them and PID 1 never touches a path the policy made. Links are followed inside the sandbox's root only,
 * and nothing of /proc is given out. Content goes through standard input and output; the exit code is the answer.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum answer { DONE, MISSING, DENIED, TOO_LARGE, NOT_REGULAR, IS_FOLDER, NOT_FOLDER, REFUSED_LINK, NO_SPACE, INVALID_PATH };
#define DEPTH_MAX 1024

__attribute__((noreturn)) static void end(enum answer answer) { _exit(answer); }

static enum answer why(int error) {
  switch (error) {
    case ENOENT: return MISSING;
    case ENOTDIR: return NOT_FOLDER;
    case EISDIR: return IS_FOLDER;
    case ELOOP: return REFUSED_LINK;
    case EXDEV: return REFUSED_LINK;
    case ENAMETOOLONG: return INVALID_PATH;
    case EINVAL: return INVALID_PATH;
    case ENOSPC: return NO_SPACE;
    case EDQUOT: return NO_SPACE;
    case ENXIO: return NOT_REGULAR; /* a socket, or a FIFO without a reader */
    case ENOTEMPTY: return IS_FOLDER;
    case EMFILE: return TOO_LARGE;
    default: return DENIED;
  }
}

/* Opens inside the sandbox's root, whatever links are on the way; magic links and /proc are refused. */
static int open_inside(int folder, const char *path, uint64_t flags) {
  struct open_how how = {.flags = flags | O_CLOEXEC,
                         .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
  struct statfs system;
  if (fd >= 0 && fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
    close(fd);
    errno = ELOOP;
    return -1;
  }
  return fd;
}

static void write_all(const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  while (length > 0) {
    ssize_t written = write(1, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(DENIED);
    at += written;
    length -= (size_t)written;
  }
}

static void read_file(int root, const char *path, uint64_t most) {
  static uint8_t buffer[PAYLOAD_MAX];
  struct stat info;
  /* First without opening for reading: a device or a FIFO must not notice, and must not block. */
  int handle = open_inside(root, path, O_PATH);
  if (handle < 0) end(why(errno));
  if (fstat(handle, &info) != 0) end(why(errno));
  if (S_ISDIR(info.st_mode)) end(IS_FOLDER);
  if (!S_ISREG(info.st_mode)) end(NOT_REGULAR);
  int fd = open_inside(root, path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) end(why(errno));
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) end(NOT_REGULAR);
  if ((uint64_t)info.st_size > most) end(TOO_LARGE);
  for (uint64_t sent = 0;;) {
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0) end(why(errno));
    if (got == 0) end(DONE);
    sent += (uint64_t)got;
    if (sent > most) end(TOO_LARGE);
    write_all(buffer, (size_t)got);
  }
}

/* The folder a file goes into, made where it is missing; new folders belong to the file's owner. */
static int open_parent(int root, char *path, uid_t uid, gid_t gid) {
  int folder = open_inside(root, "/", O_PATH | O_DIRECTORY);
  for (char *slash = strchr(path + 1, '/'); folder >= 0 && slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    int next = open_inside(root, path, O_PATH | O_DIRECTORY);
    if (next < 0 && errno == ENOENT) {
      const char *name = strrchr(path, '/') + 1;
      if (mkdirat(folder, name, 0755) != 0 && errno != EEXIST) end(why(errno));
      next = open_inside(root, path, O_PATH | O_DIRECTORY);
      if (next >= 0 && fchownat(next, "", uid, gid, AT_EMPTY_PATH) != 0) end(why(errno));
    }
    *slash = '/';
    close(folder);
    folder = next;
  }
  if (folder < 0) end(why(errno));
  return folder;
}

static void write_file(int root, char *path, mode_t mode, uid_t uid, gid_t gid) {
  static uint8_t buffer[PAYLOAD_MAX];
  char temporary[48];
  struct stat info;
  int folder = open_parent(root, path, uid, gid);
  const char *name = strrchr(path, '/') + 1;
  if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) end(IS_FOLDER);
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode)) end(IS_FOLDER);
  snprintf(temporary, sizeof temporary, ".sandlot-%d-%llu", getpid(), (unsigned long long)clock_us());
  int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) end(why(errno));
  enum answer failed = DONE;
  for (;;) {
    ssize_t got = read(0, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t at = 0; at < got && failed == DONE;) {
      ssize_t written = write(fd, buffer + at, (size_t)(got - at));
      if (written < 0) failed = why(errno);
      else at += written;
    }
    if (failed != DONE) break;
  }
  /* The owner first: changing it would clear setuid bits the caller asked for. */
  if (failed == DONE && (fchown(fd, uid, gid) != 0 || fchmod(fd, mode & 07777) != 0)) failed = why(errno);
  if (failed == DONE && renameat(folder, temporary, folder, name) != 0) failed = why(errno);
  if (failed != DONE) unlinkat(folder, temporary, 0);
  end(failed);
}

static uint64_t entries_left;

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names of an open folder, sorted; the caller frees them. */
static size_t folder_names(DIR *folder, char ***names) {
  size_t count = 0, room = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (count >= entries_left) end(TOO_LARGE);
    if (count == room) {
      room = room == 0 ? 64 : room * 2;
      *names = realloc(*names, room * sizeof **names);
      if (*names == NULL) end(TOO_LARGE);
    }
    if (((*names)[count++] = strdup(entry->d_name)) == NULL) end(TOO_LARGE);
  }
  qsort(*names, count, sizeof **names, by_name);
  return count;
}

/* One record per entry: "<kind> <mode> <bytes> <path>" and a NUL. */
static void list_folder(int fd, const char *prefix, bool is_recursive, int depth) {
  char **names = NULL;
  DIR *folder = fdopendir(fd);
  if (folder == NULL) end(why(errno));
  size_t count = folder_names(folder, &names);
  for (size_t at = 0; at < count; at++) {
    struct stat info;
    char path[8192], head[64];
    if (fstatat(dirfd(folder), names[at], &info, AT_SYMLINK_NOFOLLOW) != 0) continue; /* gone meanwhile */
    if (entries_left-- == 0) end(TOO_LARGE);
    int length = snprintf(path, sizeof path, "%s%s%s", prefix, *prefix == 0 ? "" : "/", names[at]);
    if (length >= (int)sizeof path) end(TOO_LARGE);
    char kind = S_ISREG(info.st_mode) ? 'f' : S_ISDIR(info.st_mode) ? 'd' : S_ISLNK(info.st_mode) ? 'l' : 'o';
    int head_length = snprintf(head, sizeof head, "%c %o %lld ", kind, info.st_mode & 07777, (long long)info.st_size);
    write_all(head, (size_t)head_length);
    write_all(path, (size_t)length + 1);
    if (is_recursive && kind == 'd') {
      int next = openat(dirfd(folder), names[at], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
      if (depth >= DEPTH_MAX || (next < 0 && errno == EMFILE)) end(TOO_LARGE);
      if (next >= 0) list_folder(next, path, true, depth + 1);
    }
    free(names[at]);
  }
  free(names);
  closedir(folder);
}

void file_operation(const struct exec_request *request) {
  char **arguments = request->argv;
  uint32_t count = request->argc;
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0 || count < 2 || arguments[0][0] != '/') end(INVALID_PATH);
  if (request->kind == JOB_READ) read_file(root, arguments[0], strtoull(arguments[1], NULL, 10));
  if (request->kind == JOB_WRITE && count == 2)
    write_file(root, arguments[0], (mode_t)strtoul(arguments[1], NULL, 8), request->uid, request->gid);
  if (request->kind == JOB_LIST && count == 3) {
    int fd = open_inside(root, arguments[0], O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (fd < 0) end(why(errno));
    entries_left = strtoull(arguments[2], NULL, 10);
    list_folder(fd, "", arguments[1][0] == '1', 0);
    end(DONE);
  }
  end(INVALID_PATH);
}
