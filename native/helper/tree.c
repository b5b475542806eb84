/*
 * Whole trees, read: the walk that listings, downloads and diffs share, the listing and the download. A running command
 * may change the tree under the walk; what is gone by the time it is looked at is left out, and no link is followed.
 */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names of an open folder, sorted; the caller frees them. */
size_t folder_names(DIR *folder, char ***names, uint64_t most) {
  size_t count = 0, room = 0;
  *names = NULL;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (count >= most) end(TOO_LARGE);
    if (count == room) {
      room = room == 0 ? 64 : room * 2;
      *names = realloc(*names, room * sizeof **names);
      if (*names == NULL) end(TOO_LARGE);
    }
    if (((*names)[count++] = strdup(entry->d_name)) == NULL) end(TOO_LARGE);
  }
  if (count > 0) qsort(*names, count, sizeof **names, by_name);
  return count;
}

static void walk_below(struct walk *walk, int folder, const char *name) {
  int next = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (walk->depth >= DEPTH_MAX || (next < 0 && errno == EMFILE)) end(TOO_LARGE);
  if (next < 0) return;
  if (is_proc(next)) {
    close(next);
    return;
  }
  walk->depth++;
  walk_folder(walk, next);
  walk->depth--;
}

void walk_folder(struct walk *walk, int fd) {
  char **names;
  DIR *folder = fdopendir(fd);
  if (folder == NULL) end(why(errno));
  size_t count = folder_names(folder, &names, walk->entries_left), before = walk->length;
  for (size_t at = 0; at < count; at++) {
    struct stat info;
    if (fstatat(dirfd(folder), names[at], &info, AT_SYMLINK_NOFOLLOW) == 0) { /* else gone meanwhile */
      if (walk->entries_left-- == 0) end(TOO_LARGE);
      size_t bytes = strlen(names[at]), slash = before > 0;
      if (before + slash + bytes + 1 > sizeof walk->path) end(TOO_LARGE);
      if (slash) walk->path[before] = '/';
      memcpy(walk->path + before + slash, names[at], bytes + 1);
      walk->length = before + slash + bytes;
      if (walk->visit(walk, dirfd(folder), names[at], &info) && S_ISDIR(info.st_mode))
        walk_below(walk, dirfd(folder), names[at]);
      walk->length = before;
      walk->path[before] = 0;
    }
    free(names[at]);
  }
  free(names);
  closedir(folder);
}

static void walk_from(int root, const char *path, struct walk *walk) {
  int fd = open_inside(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (fd < 0) end(why(errno));
  walk_folder(walk, fd);
}

/* One record per entry: "<kind> <mode> <bytes> <path>" and a NUL. */
static bool list_entry(struct walk *walk, int folder, const char *name, const struct stat *info) {
  char head[64];
  char kind = S_ISREG(info->st_mode) ? 'f' : S_ISDIR(info->st_mode) ? 'd' : S_ISLNK(info->st_mode) ? 'l' : 'o';
  int length = snprintf(head, sizeof head, "%c %o %lld ", kind, info->st_mode & 07777, (long long)info->st_size);
  (void)folder, (void)name;
  out_bytes(head, (size_t)length);
  out_bytes(walk->path, walk->length + 1);
  return walk->context != NULL;
}

void list_tree(int root, const char *path, bool is_recursive, uint64_t entries_max) {
  static struct walk walk;
  walk.visit = list_entry;
  walk.entries_left = entries_max;
  walk.context = is_recursive ? &walk : NULL;
  walk_from(root, path, &walk);
  end(DONE);
}

static void out_record(char kind, const struct walk *walk, mode_t mode) {
  uint8_t head[RECORD_HEAD];
  record_head(head, kind, walk->length, mode);
  out_bytes(head, sizeof head);
  out_bytes(walk->path, walk->length);
}

/* A file's content as it is read, which may be more or less than its size was a moment ago. */
static void out_content(int fd, uint64_t *bytes_left) {
  static uint8_t buffer[PAYLOAD_MAX - 64];
  for (;;) {
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) end(why(errno));
    uint32_t chunk = (uint32_t)got;
    if (chunk > *bytes_left) end(TOO_LARGE);
    *bytes_left -= chunk;
    out_bytes(&chunk, sizeof chunk);
    if (got == 0) return;
    out_bytes(buffer, (size_t)got);
  }
}

/* `r` is an entry that is named and not carried. */
static bool download_entry(struct walk *walk, int folder, const char *name, const struct stat *info) {
  uint64_t *bytes_left = walk->context;
  if (walk->length >= PATH_BYTES_MAX) end(TOO_LARGE);
  if (S_ISDIR(info->st_mode)) {
    int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is_refused = fd >= 0 && is_proc(fd);
    if (fd >= 0) close(fd);
    out_record(is_refused ? 'r' : 'd', walk, info->st_mode & 07777);
    return !is_refused;
  }
  int fd = S_ISREG(info->st_mode) ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
  struct stat opened;
  if (fd < 0 && S_ISREG(info->st_mode) && errno == ENOENT) return false; /* gone meanwhile */
  if (fd < 0 || fstat(fd, &opened) != 0 || !S_ISREG(opened.st_mode)) {
    out_record('r', walk, 0);
  } else {
    if ((uint64_t)opened.st_size > *bytes_left) end(TOO_LARGE);
    out_record('f', walk, opened.st_mode & 07777);
    out_content(fd, bytes_left);
  }
  if (fd >= 0) close(fd);
  return false;
}

void download_tree(int root, const char *path, uint64_t bytes_max, uint64_t entries_max) {
  static struct walk walk;
  uint8_t head[RECORD_HEAD];
  walk.visit = download_entry;
  walk.entries_left = entries_max;
  walk.context = &bytes_max;
  walk_from(root, path, &walk);
  record_head(head, 'e', 0, 0);
  out_bytes(head, sizeof head);
  end(DONE);
}
