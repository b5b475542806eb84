/* Operations on one entry of a folder: what it is, renaming, removing, its permission bits. Never through a last link. */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "<kind> <mode> <uid> <gid> <bytes> <seconds> <nanoseconds>" */
void stat_entry(int root, const char *path) {
  struct stat info;
  char text[160];
  int fd = open_inside(root, path, O_PATH | O_NOFOLLOW);
  if (fd < 0 || fstat(fd, &info) != 0) end(why(errno));
  char kind = S_ISREG(info.st_mode) ? 'f' : S_ISDIR(info.st_mode) ? 'd' : S_ISLNK(info.st_mode) ? 'l' : 'o';
  int length = snprintf(text, sizeof text, "%c %o %u %u %lld %lld %ld", kind, info.st_mode & 07777, info.st_uid, info.st_gid,
                        (long long)info.st_size, (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  out_bytes(text, (size_t)length);
  end(DONE);
}

void rename_entry(int root, char *from, char *to) {
  const char *from_name, *to_name;
  int from_folder = open_parent(root, from, &from_name);
  if (from_folder < 0) end(why(errno));
  int to_folder = open_parent(root, to, &to_name);
  if (to_folder < 0) end(why(errno));
  end(renameat(from_folder, from_name, to_folder, to_name) == 0 ? DONE : why(errno));
}

/* Removes what is below an open folder; bounded in depth, since each level holds a descriptor. */
static bool empty_folder(int fd, int depth) {
  DIR *folder = fdopendir(fd);
  if (folder == NULL) return close(fd), false;
  bool ok = true;
  for (struct dirent *entry; ok && (entry = readdir(folder)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    ok = remove_tree(dirfd(folder), entry->d_name, depth + 1);
  }
  int error = errno;
  closedir(folder);
  errno = error;
  return ok;
}

bool remove_tree(int folder, const char *name, int depth) {
  if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false; /* EPERM is what POSIX has for a folder */
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  if (depth >= DEPTH_MAX) {
    close(fd);
    errno = EMFILE;
    return false;
  }
  return empty_folder(fd, depth) && (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT);
}

void remove_entry(int root, char *path, bool is_recursive) {
  const char *name;
  struct stat info;
  int folder = open_parent(root, path, &name);
  if (folder < 0 || fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) end(why(errno));
  if (is_recursive) end(remove_tree(folder, name, 0) ? DONE : why(errno));
  end(unlinkat(folder, name, S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0) == 0 ? DONE : why(errno));
}

/* Files and folders only. A file is opened to be changed, for there is no other way that all kernels have and that
   cannot follow a link; what it is was looked at before, so that no FIFO or device notices. */
void chmod_entry(int root, const char *path, mode_t mode) {
  struct stat info;
  int handle = open_inside(root, path, O_PATH | O_NOFOLLOW);
  if (handle < 0 || fstat(handle, &info) != 0) end(why(errno));
  if (S_ISLNK(info.st_mode)) end(REFUSED_LINK);
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) end(NOT_REGULAR);
  int fd = open_inside(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &info) != 0) end(why(errno));
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) end(NOT_REGULAR);
  end(fchmod(fd, mode) == 0 ? DONE : why(errno));
}
