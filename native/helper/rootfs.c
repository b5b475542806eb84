/*
 * The agent's file system: an overlay of the image and sealed layers under a size-capped tmpfs; over the `host` image
 * the host's system folders bound read-only; the kernel's views (see views.c); and nothing else. The old root is
 * detached, so no host path is left to reach. The zygote's staging root (see staging.c) is "/" when this runs.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOWERS_MAX (LAYERS_MAX + 64)

int upper_folder = -1;
uint64_t storage_files;
int lower_folders[LOWERS_MAX], lower_count;

/* Appends one folder to the list, and keeps it open for the agent; relative names, as mount options are one page. */
static bool add_lower(char *options, size_t room, const char *folder) {
  size_t have = strlen(options);
  int bytes = snprintf(options + have, room - have, "%s%s", lower_count == 0 ? "" : ":", folder);
  errno = ENAMETOOLONG;
  if (bytes < 0 || (size_t)bytes >= room - have || lower_count >= LOWERS_MAX) return false;
  int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) lower_folders[lower_count++] = fd;
  return fd >= 0;
}

static const char *mount_overlay(const struct box_request *request, const struct box_storage *storage) {
  char options[4096] = "userxattr,upperdir=../box/upper,workdir=../box/work,lowerdir=", folder[512];
  if (mkdir("/box/upper", 0755) != 0 || mkdir("/box/work", 0755) != 0 || mkdir(BOX_ROOT, 0755) != 0)
    return "make the upper folders";
  upper_folder = open("/box/upper", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (upper_folder < 0 || chdir("/layers") != 0) return "open the upper folder";
  for (int at = 0; at < storage->layer_count; at++) {
    snprintf(folder, sizeof folder, "%d/upper", at);
    if (!add_lower(options, sizeof options, folder)) return "open a layer";
  }
  for (const char *at = request->lowers; *at != 0;) {
    size_t length = strcspn(at, ",");
    snprintf(folder, sizeof folder, "../images/%.*s", (int)length, at);
    if (!add_lower(options, sizeof options, folder)) return "open a folder of the image";
    at += length + (at[length] == ',');
  }
  if (mount("overlay", BOX_ROOT, "overlay", MS_NOSUID | MS_NODEV, options) != 0) return "mount the overlay";
  if (request->shows_top && storage->layer_count > 0) {
    upper_folder = lower_folders[0];
    memmove(lower_folders, lower_folders + 1, (size_t)--lower_count * sizeof *lower_folders);
  }
  return chdir("/") == 0 ? NULL : "leave the layers";
}

static const char *mount_system(void) {
  static const char *const folders[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
  for (size_t at = 0; at < sizeof folders / sizeof *folders; at++) {
    char from[64], to[64];
    struct stat info;
    snprintf(from, sizeof from, "/system/%s", folders[at]);
    snprintf(to, sizeof to, BOX_ROOT "/%s", folders[at]);
    if (lstat(from, &info) != 0) continue;
    if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) != 0) return "bind the system folders";
  }
  return NULL;
}

/* What is mounted next must land in the sandbox: an image may bring a link where a folder belongs. */
static const char *make_points(void) {
  static const char *const folders[] = {"dev", "proc"};
  for (size_t at = 0; at < sizeof folders / sizeof *folders; at++) {
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, BOX_ROOT "/%s", folders[at]);
    if (lstat(path, &info) != 0 && mkdir(path, 0755) != 0) return "make /dev and /proc";
    if (lstat(path, &info) != 0) return "find /dev and /proc";
    errno = ENOTDIR;
    if (!S_ISDIR(info.st_mode)) return "use /dev and /proc of the image";
  }
  return NULL;
}

#define STEP(name, work) \
  if (failed == NULL) failed = (work); \
  if (failed == NULL && fault_at(request, name)) failed = name

const char *rootfs_enter(const struct box_request *request, const struct box_storage *storage) {
  const char *failed = NULL;
  STEP("storage", storage_attach(request, storage));
  STEP("overlay", mount_overlay(request, storage));
  STEP("system", request->binds_system ? mount_system() : NULL);
  if (failed == NULL) failed = make_points();
  STEP("views", views_mount(request));
  if (failed != NULL) return failed;
  if (chdir(BOX_ROOT) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return "pivot into the root";
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return "detach the old root";
  struct statfs storage_now;
  if (statfs("/", &storage_now) == 0) storage_files = (uint64_t)(storage_now.f_files - storage_now.f_ffree);
  return fault_at(request, "pivot") ? "pivot" : NULL;
}
