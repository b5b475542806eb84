/*
 * Makes one layer of several, or of the live storage of a frozen sandbox: a child of the zygote copies the union of the
 * given folders into a fresh tmpfs. The topmost entry of a name wins; whiteouts and opaque folders are kept, because the
 * image below may hold what they hide. Nobody writes to the sources meanwhile, and no link in them is followed.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OPAQUE "user.overlay.opaque"
#define LINKS_MAX 4096

/* Files with several names, so that the copy has them too. */
static struct { dev_t device; ino_t inode; int copy; } *links;
static size_t link_count;

static bool is_opaque(int folder) {
  char value;
  return fgetxattr(folder, OPAQUE, &value, 1) == 1 && value == 'y';
}

/* Attributes that commands may set themselves; those of the overlay describe the layer they came from. */
static bool copy_attributes(int from, int to) {
  char names[4096], value[65536];
  ssize_t bytes = flistxattr(from, names, sizeof names);
  for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(names + at) + 1) {
    const char *name = names + at;
    if (strncmp(name, "user.", 5) != 0 || strncmp(name, "user.overlay.", 13) == 0) continue;
    ssize_t length = fgetxattr(from, name, value, sizeof value);
    if (length < 0 || fsetxattr(to, name, value, (size_t)length, 0) != 0) return false;
  }
  return true;
}

static bool copy_bytes(int from, int to, off_t size) {
  if (ftruncate(to, size) != 0) return false;
  for (off_t at = 0; (at = lseek(from, at, SEEK_DATA)) >= 0 && at < size;) {
    off_t end = lseek(from, at, SEEK_HOLE);
    if (end < 0 || lseek(to, at, SEEK_SET) < 0) return false;
    while (at < end)
      if (sendfile(to, from, &at, (size_t)(end - at)) <= 0) return false;
  }
  return true;
}

static bool copy_file(int source, int target, const char *name, const struct stat *info) {
  for (size_t at = 0; info->st_nlink > 1 && at < link_count; at++)
    if (links[at].device == info->st_dev && links[at].inode == info->st_ino)
      return linkat(links[at].copy, "", target, name, AT_EMPTY_PATH) == 0;
  int from = openat(source, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  int to = from < 0 ? -1 : openat(target, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool ok = to >= 0 && copy_bytes(from, to, info->st_size) && copy_attributes(from, to) &&
            fchown(to, info->st_uid, info->st_gid) == 0 && fchmod(to, info->st_mode & 07777) == 0 &&
            futimens(to, (struct timespec[]){info->st_atim, info->st_mtim}) == 0;
  if (from >= 0) close(from);
  if (ok && info->st_nlink > 1 && link_count < LINKS_MAX) {
    links[link_count].device = info->st_dev;
    links[link_count].inode = info->st_ino;
    links[link_count++].copy = to;
  } else if (to >= 0) {
    close(to);
  }
  return ok;
}

/* A link, FIFO, socket or whiteout. */
static bool copy_other(int source, int target, const char *name, const struct stat *info) {
  if (S_ISLNK(info->st_mode)) {
    char text[4096];
    ssize_t length = readlinkat(source, name, text, sizeof text - 1);
    if (length < 0) return false;
    text[length] = 0;
    if (symlinkat(text, target, name) != 0) return false;
  } else {
    if (mknodat(target, name, info->st_mode, info->st_rdev) != 0) return false;
    if (fchmodat(target, name, info->st_mode & 07777, 0) != 0) return false;
  }
  struct timespec times[] = {info->st_atim, info->st_mtim};
  return fchownat(target, name, info->st_uid, info->st_gid, AT_SYMLINK_NOFOLLOW) == 0 &&
         utimensat(target, name, times, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool merge(const int *sources, int count, int target);

/* The folder `name` of the topmost source and of those below it that still show through. */
static bool merge_folder(const int *sources, int count, int target, const char *name, const struct stat *info) {
  int found[LAYERS_MAX], found_count = 0;
  bool is_hiding = false;
  for (int at = 0; at < count && !is_hiding; at++) {
    struct stat below;
    if (fstatat(sources[at], name, &below, AT_SYMLINK_NOFOLLOW) != 0) continue;
    is_hiding = !S_ISDIR(below.st_mode);
    if (is_hiding) break;
    int fd = openat(sources[at], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) break;
    found[found_count++] = fd;
    is_hiding = is_opaque(fd);
  }
  int to = -1;
  if (found_count > 0 && mkdirat(target, name, 0700) == 0)
    to = openat(target, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  bool ok = to >= 0 && merge(found, found_count, to) && (!is_hiding || fsetxattr(to, OPAQUE, "y", 1, 0) == 0) &&
            copy_attributes(found[0], to) && fchown(to, info->st_uid, info->st_gid) == 0 &&
            fchmod(to, info->st_mode & 07777) == 0 &&
            futimens(to, (struct timespec[]){info->st_atim, info->st_mtim}) == 0;
  for (int at = 0; at < found_count; at++) close(found[at]);
  if (to >= 0) close(to);
  return ok;
}

static bool merge_entry(const int *sources, int count, int target, const char *name) {
  struct stat info;
  if (fstatat(target, name, &info, AT_SYMLINK_NOFOLLOW) == 0) return true; /* a source above has had its say */
  if (fstatat(sources[0], name, &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (S_ISDIR(info.st_mode)) return merge_folder(sources, count, target, name, &info);
  if (S_ISREG(info.st_mode)) return copy_file(sources[0], target, name, &info);
  return copy_other(sources[0], target, name, &info);
}

static bool merge(const int *sources, int count, int target) {
  bool ok = true;
  for (int at = 0; ok && at < count; at++) {
    int fd = openat(sources[at], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) return false;
    for (struct dirent *entry; ok && (entry = readdir(folder)) != NULL;)
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
        ok = merge_entry(sources + at, count - at, target, entry->d_name);
    closedir(folder);
  }
  return ok;
}

bool merge_folders(const int *sources, int count, int target) {
  struct stat info;
  links = calloc(LINKS_MAX, sizeof *links);
  umask(0);
  return links != NULL && count > 0 && merge(sources, count, target) && fstat(sources[0], &info) == 0 &&
         fchown(target, info.st_uid, info.st_gid) == 0 && fchmod(target, info.st_mode & 07777) == 0;
}
