/*
 * Tells changes below a folder as they happen: one inotify watch per folder, bounded in number, set from the folder
 * itself so that no link is followed. Changes that come faster than they are taken end the watch instead of being lost
 * in silence.
 */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WATCHES_MAX 8192
#define EVENTS \
  (IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

struct watched {
  int number;
  char *path; /* below the folder that is watched; "" for itself */
};

static int inotify;
static int top;
static struct watched *all;
static size_t count, room;
static char last_kind, last_path[TREE_PATH_MAX];

/* "<kind> <path>" and a NUL; the same change told twice in a row is one. */
static void tell(char kind, const char *path) {
  if (kind == 'm' && last_kind != 'r' && strcmp(path, last_path) == 0) return;
  last_kind = kind;
  strcpy(last_path, path);
  char head[2] = {kind, ' '};
  out_bytes(head, 2);
  out_bytes(path, strlen(path) + 1);
}

static const char *path_of(int number) {
  for (size_t at = 0; at < count; at++)
    if (all[at].number == number) return all[at].path;
  return NULL;
}

static void forget(size_t at) {
  free(all[at].path);
  all[at] = all[--count];
}

/* A folder that left takes the folders below it along. */
static void forget_below(const char *path) {
  size_t length = strlen(path);
  for (size_t at = count; at-- > 0;) {
    if (strncmp(all[at].path, path, length) != 0 || (all[at].path[length] != 0 && all[at].path[length] != '/')) continue;
    inotify_rm_watch(inotify, all[at].number);
    forget(at);
  }
}

static bool join(char *to, const char *path, const char *name) {
  size_t length = strlen(path), bytes = strlen(name), slash = length > 0;
  if (length + slash + bytes + 1 > TREE_PATH_MAX) return false;
  memcpy(to, path, length);
  if (slash) to[length] = '/';
  memcpy(to + length + slash, name, bytes + 1);
  return true;
}

/* Watches an open folder and all below it. What it holds already is told only where the folder came during the watch. */
static void watch_folder(int fd, const char *path, bool tells, int depth) {
  if (depth > DEPTH_MAX || count == WATCHES_MAX) end(TOO_LARGE);
  if (fchdir(fd) != 0) end(why(errno));
  int number = inotify_add_watch(inotify, ".", EVENTS);
  if (number < 0) end(errno == ENOSPC ? TOO_LARGE : why(errno));
  if (path_of(number) == NULL) {
    if (count == room) {
      room = room == 0 ? 16 : room * 2;
      all = realloc(all, room * sizeof *all);
      if (all == NULL) end(TOO_LARGE);
    }
    all[count++] = (struct watched){number, strdup(path)};
  }
  char **names;
  DIR *folder = fdopendir(fd);
  if (folder == NULL) end(why(errno));
  size_t names_count = folder_names(folder, &names, UINT64_MAX);
  char *below = malloc(TREE_PATH_MAX);
  for (size_t at = 0; at < names_count; at++) {
    struct stat info;
    bool is_named = strncmp(names[at], TEMPORARY, strlen(TEMPORARY)) != 0 && below != NULL && join(below, path, names[at]);
    if (is_named && fstatat(dirfd(folder), names[at], &info, AT_SYMLINK_NOFOLLOW) == 0) {
      if (tells) tell('c', below);
      int next = !S_ISDIR(info.st_mode) ? -1 : openat(dirfd(folder), names[at], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (next >= 0 && is_proc(next)) close(next);
      else if (next >= 0) watch_folder(next, below, tells, depth + 1);
    }
    free(names[at]);
  }
  free(below);
  free(names);
  closedir(folder);
}

static void take(const struct inotify_event *event) {
  static char path[TREE_PATH_MAX];
  if (event->mask & IN_Q_OVERFLOW) end(TOO_LARGE);
  const char *folder = path_of(event->wd);
  if (folder == NULL) return; /* of a folder that left meanwhile */
  if (event->mask & IN_IGNORED) {
    for (size_t at = 0; at < count; at++)
      if (all[at].number == event->wd) return forget(at);
  }
  if (event->len == 0 || strncmp(event->name, TEMPORARY, strlen(TEMPORARY)) == 0) return;
  if (!join(path, folder, event->name)) return;
  if (event->mask & (IN_DELETE | IN_MOVED_FROM)) {
    tell('r', path);
    if ((event->mask & IN_ISDIR) && (event->mask & IN_MOVED_FROM)) forget_below(path);
  } else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
    tell('c', path);
    if (!(event->mask & IN_ISDIR)) return;
    int fd = open_inside(top, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd >= 0) watch_folder(fd, path, true, 0);
  } else {
    tell('m', path);
  }
}

void watch_tree(int root, const char *path) {
  static _Alignas(struct inotify_event) char buffer[65536];
  top = open_inside(root, path, O_RDONLY | O_DIRECTORY);
  if (top < 0) end(why(errno));
  inotify = inotify_init1(IN_CLOEXEC);
  int copy = fcntl(top, F_DUPFD_CLOEXEC, 3);
  if (inotify < 0 || copy < 0) end(why(errno));
  watch_folder(copy, "", false, 0);
  tell('b', ""); /* from here on nothing is missed */
  for (;;) {
    out_flush();
    ssize_t got = read(inotify, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) end(why(errno));
    for (ssize_t at = 0; at < got;) {
      const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
      at += (ssize_t)(sizeof *event + event->len);
      take(event);
    }
  }
}
