/*
 * What a sandbox changed: a walk over the upper folder of its overlay, each entry beside the one it covers in the image
 * and the sealed layers. Whiteouts and opaque folders are read as the overlay means them; an entry that was only touched
 * is no change. What was written is hostile: no link is followed, nothing but regular files is read.
 */
#define _GNU_SOURCE
#include "diff.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Holes cost nothing to make: beyond so many bytes in all, content is not hashed. */
#define HASH_BYTES_MAX (4ull << 30)

struct place {
  int upper;
  int *lowers; /* the folders it covers, the topmost first */
  int lower_count;
  bool is_hidden; /* nothing of them shows through */
};

static struct {
  void (*tell)(const struct change *);
  uint64_t entries_left;
  bool whole_hidden;
  char path[TREE_PATH_MAX];
  size_t length;
  int depth;
} at;

static uint64_t hash_left = HASH_BYTES_MAX;

int open_content(int folder, const char *name) {
  struct stat info;
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
    close(fd);
    return -1;
  }
  return fd;
}

static bool is_whiteout(int folder, const char *name, const struct stat *info) {
  if (S_ISCHR(info->st_mode)) return info->st_rdev == makedev(0, 0);
  if (!S_ISREG(info->st_mode) || info->st_size != 0) return false;
  int fd = open_content(folder, name);
  bool is = fd >= 0 && fgetxattr(fd, "user.overlay.whiteout", NULL, 0) >= 0;
  if (fd >= 0) close(fd);
  return is;
}

static bool is_opaque(int fd) {
  char value;
  return fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

/* The topmost entry of that name among the covered folders: its index, or -1. */
static int find_lower(const struct place *place, const char *name, struct stat *info) {
  for (int index = 0; index < place->lower_count; index++) {
    if (fstatat(place->lowers[index], name, info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    return is_whiteout(place->lowers[index], name, info) ? -1 : index;
  }
  return -1;
}

static bool is_same_link(int folder, int other, const char *name) {
  char one[4096], two[4096];
  ssize_t length = readlinkat(folder, name, one, sizeof one);
  return length >= 0 && readlinkat(other, name, two, sizeof two) == length && memcmp(one, two, (size_t)length) == 0;
}

static bool is_same_content(int folder, int other, const char *name) {
  static uint8_t one[PAYLOAD_MAX], two[PAYLOAD_MAX];
  int fd = open_content(folder, name), other_fd = open_content(other, name);
  bool is_same = fd >= 0 && other_fd >= 0;
  for (off_t offset = 0; is_same;) {
    ssize_t got = pread(fd, one, sizeof one, offset), other_got = pread(other_fd, two, sizeof two, offset);
    is_same = got >= 0 && got == other_got && memcmp(one, two, (size_t)got) == 0;
    if (got == 0) break;
    offset += got;
  }
  if (fd >= 0) close(fd);
  if (other_fd >= 0) close(other_fd);
  return is_same;
}

static bool is_same(const struct place *place, const char *name, const struct stat *info, int lower, const struct stat *old) {
  if (info->st_mode != old->st_mode || info->st_uid != old->st_uid || info->st_gid != old->st_gid) return false;
  if (S_ISDIR(info->st_mode)) return true;
  if (S_ISLNK(info->st_mode)) return is_same_link(place->upper, place->lowers[lower], name);
  if (!S_ISREG(info->st_mode)) return info->st_rdev == old->st_rdev;
  return info->st_size == old->st_size && is_same_content(place->upper, place->lowers[lower], name);
}

static void tell(char kind, const struct place *place, const char *name, const struct stat *info, bool hides, bool was_other) {
  if (at.entries_left-- == 0) end(TOO_LARGE);
  struct change change = {.kind = kind, .hides = hides, .was_other = was_other, .path = at.path,
                          .folder = place->upper, .name = name, .info = info};
  at.tell(&change);
}

static size_t push(const char *name) {
  size_t before = at.length, bytes = strlen(name), slash = before > 0;
  if (before + slash + bytes + 1 > sizeof at.path) end(TOO_LARGE);
  if (slash) at.path[before] = '/';
  memcpy(at.path + before + slash, name, bytes + 1);
  at.length = before + slash + bytes;
  return before;
}

static void pop(size_t before) {
  at.length = before;
  at.path[before] = 0;
}

static void walk(const struct place *place);

/* The covered folders of that name that count: down to the first that is no folder, or opaque. */
static int open_lowers(const struct place *place, const char *name, int first, int *to) {
  int count = 0;
  for (int index = first; index >= 0 && index < place->lower_count; index++) {
    struct stat info;
    if (fstatat(place->lowers[index], name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(info.st_mode)) break;
    int fd = openat(place->lowers[index], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) end(why(errno));
    to[count++] = fd;
    if (is_opaque(fd)) break;
  }
  return count;
}

static void walk_entry(const struct place *place, const char *name) {
  struct stat info, old;
  if (fstatat(place->upper, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return; /* gone meanwhile */
  int lower = find_lower(place, name, &old);
  if (is_whiteout(place->upper, name, &info)) {
    if (lower >= 0 && !(place->is_hidden && at.whole_hidden)) tell('r', place, name, NULL, false, false);
    return;
  }
  bool is_folder = S_ISDIR(info.st_mode), was_folder = lower >= 0 && S_ISDIR(old.st_mode);
  int fd = is_folder ? openat(place->upper, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (is_folder && fd < 0) end(why(errno));
  bool hides = is_folder && was_folder && !place->is_hidden && is_opaque(fd);
  bool is_whole = at.whole_hidden && (place->is_hidden || hides);
  bool was_other = lower >= 0 && is_folder != was_folder && !(at.whole_hidden && place->is_hidden);
  if (is_whole || lower < 0 || !is_same(place, name, &info, lower, &old))
    tell(lower < 0 ? 'a' : 'm', place, name, &info, hides, was_other);
  if (!is_folder) return;
  if (++at.depth > DEPTH_MAX) end(TOO_LARGE);
  struct place below = {.upper = fd, .is_hidden = place->is_hidden || hides};
  below.lowers = place->lower_count == 0 ? NULL : malloc((size_t)place->lower_count * sizeof(int));
  if (below.lowers != NULL) below.lower_count = open_lowers(place, name, lower, below.lowers);
  walk(&below);
  for (int index = 0; index < below.lower_count; index++) close(below.lowers[index]);
  free(below.lowers);
  close(fd);
  at.depth--;
}

static int by_name(const void *one, const void *two) { return strcmp(*(char *const *)one, *(char *const *)two); }

/* In a folder that hides: what was there before and is not any more. */
static void tell_hidden(const struct place *place, char *const *names, size_t count) {
  for (int index = 0; index < place->lower_count; index++) {
    int copy = openat(place->lowers[index], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) end(why(errno));
    char **old_names;
    size_t old_count = folder_names(folder, &old_names, UINT64_MAX);
    for (size_t each = 0; each < old_count; each++) {
      struct stat old;
      char *name = old_names[each];
      bool is_there = count > 0 && bsearch(&name, names, count, sizeof *names, by_name) != NULL;
      if (!is_there && find_lower(place, name, &old) == index) {
        size_t before = push(name);
        tell('r', place, name, NULL, false, false);
        pop(before);
      }
      free(name);
    }
    free(old_names);
    closedir(folder);
  }
}

static void walk(const struct place *place) {
  int copy = openat(place->upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = copy < 0 ? NULL : fdopendir(copy);
  if (folder == NULL) end(why(errno));
  char **names;
  size_t count = folder_names(folder, &names, UINT64_MAX);
  closedir(folder);
  for (size_t each = 0; each < count; each++) {
    /* Mount points, made where an image has none; nothing of the sandbox's own can lie there. */
    if (at.length == 0 && (strcmp(names[each], "dev") == 0 || strcmp(names[each], "proc") == 0)) continue;
    size_t before = push(names[each]);
    walk_entry(place, names[each]);
    pop(before);
  }
  if (place->is_hidden && !at.whole_hidden) tell_hidden(place, names, count);
  for (size_t each = 0; each < count; each++) free(names[each]);
  free(names);
}

void walk_changes(uint64_t entries_max, bool whole_hidden, void (*tell_change)(const struct change *)) {
  if (upper_folder < 0) end(UNSUPPORTED);
  at.tell = tell_change;
  at.entries_left = entries_max;
  at.whole_hidden = whole_hidden;
  struct place top = {.upper = upper_folder, .lowers = lower_folders, .lower_count = lower_count};
  walk(&top);
}

static bool hash_content(const struct change *change, uint8_t digest[32]) {
  static uint8_t buffer[PAYLOAD_MAX];
  struct sha256 hash;
  if ((uint64_t)change->info->st_size > hash_left) return false;
  int fd = open_content(change->folder, change->name);
  if (fd < 0) return false;
  sha256_begin(&hash);
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0 && (uint64_t)got <= hash_left) {
    sha256_add(&hash, buffer, (size_t)got);
    hash_left -= (uint64_t)got;
  }
  close(fd);
  sha256_end(&hash, digest);
  return got == 0;
}

/* One record per change: "<change> <kind> <bytes> <hash> <path>" and a NUL, with `-` for what there is not. */
static void tell_text(const struct change *change) {
  char head[128], hex[65] = "-";
  uint8_t digest[32];
  mode_t mode = change->info == NULL ? 0 : change->info->st_mode;
  char kind = change->info == NULL ? '-' : S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : 'o';
  if (kind == 'f' && hash_content(change, digest))
    for (int index = 0; index < 32; index++) sprintf(hex + 2 * index, "%02x", digest[index]);
  long long bytes = kind == 'f' ? (long long)change->info->st_size : 0;
  int length = snprintf(head, sizeof head, "%c %c %lld %s ", change->kind, kind, bytes, hex);
  out_bytes(head, (size_t)length);
  out_bytes(change->path, strlen(change->path) + 1);
}

void diff_layer(uint64_t entries_max) {
  walk_changes(entries_max, false, tell_text);
  end(DONE);
}
