/*
 * The agent's file system: an overlay of the read-only image under a size-capped tmpfs, the host's system folders bound
 * read-only, the kernel's views (see views.c), and nothing else. The old root is detached, so no host path is
 * left to reach. The zygote's staging root (see staging.c) is "/" when this runs.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *mount_storage(const struct box_request *request) {
  char options[128];
  snprintf(options, sizeof options, "mode=0755,size=%llu,nr_inodes=%llu", (unsigned long long)request->disk_bytes,
           (unsigned long long)request->files_max + 16);
  if (mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return "mount the tmpfs of the sandbox";
  if (mkdir("/box/upper", 0755) != 0 || mkdir("/box/work", 0755) != 0 || mkdir(BOX_ROOT, 0755) != 0)
    return "make the upper folders";
  if (mount("overlay", BOX_ROOT, "overlay", MS_NOSUID | MS_NODEV,
            "lowerdir=/lower,upperdir=/box/upper,workdir=/box/work,userxattr") != 0)
    return "mount the overlay";
  return NULL;
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

const char *rootfs_enter(const struct box_request *request) {
  const char *failed = mount_storage(request);
  if (failed == NULL) failed = mount_system();
  if (failed == NULL) failed = views_mount(request);
  if (failed != NULL) return failed;
  if (chdir(BOX_ROOT) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return "pivot into the root";
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return "detach the old root";
  return NULL;
}
