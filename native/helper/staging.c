/*
 * The zygote's own root: a small private tree with the images, the host's system folders, six device nodes and /proc,
 * into which the zygote moves before it serves anyone. Each sandbox starts from a copy of this mount table, so host
 * paths are out of reach before the sandbox has even been given its root, and copying the table is cheap.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void require(bool ok, const char *step) {
  if (!ok) zygote_abandon(step);
}

static void bind_read_only(const char *from, const char *to) {
  require(mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0, from);
  /* Adds to what the mounts have, also below, where a remount would have to name what the host's owner locked. */
  const uint64_t attributes[4] = {0x1 | 0x2 | 0x4 /* MOUNT_ATTR_RDONLY, _NOSUID, _NODEV */};
  require(syscall(SYS_mount_setattr, AT_FDCWD, to, AT_RECURSIVE, attributes, sizeof attributes) == 0, to);
}

/* On merged-usr hosts only /usr is a folder; elsewhere /bin and its kin are folders of their own. */
static void bind_system(void) {
  static const char *const folders[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
  require(mkdir("system", 0755) == 0, "make system");
  for (size_t at = 0; at < sizeof folders / sizeof *folders; at++) {
    char from[64], to[64];
    struct stat info;
    snprintf(from, sizeof from, "/%s", folders[at]);
    snprintf(to, sizeof to, "system/%s", folders[at]);
    if (lstat(from, &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    require(mkdir(to, 0755) == 0, to);
    bind_read_only(from, to);
  }
}

static void make_devices(void) {
  static const struct { const char *name; unsigned minor, major; } nodes[] = {
      {"null", 3, 1}, {"zero", 5, 1}, {"full", 7, 1}, {"random", 8, 1}, {"urandom", 9, 1}, {"tty", 0, 5}};
  static const char *const links[][2] = {{"/proc/self/fd", "fd"},
                                         {"/proc/self/fd/0", "stdin"},
                                         {"/proc/self/fd/1", "stdout"},
                                         {"/proc/self/fd/2", "stderr"},
                                         {"pts/ptmx", "ptmx"},
                                         {"/run/dev-log", "log"}}; /* /dev is read-only; a log daemon listens there */
  char path[64];
  require(mkdir("dev", 0755) == 0, "make dev");
  require(mount("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k") == 0, "mount dev");
  for (size_t at = 0; at < sizeof nodes / sizeof *nodes; at++) {
    snprintf(path, sizeof path, "dev/%s", nodes[at].name);
    if (maps_are_root()) {
      require(mknod(path, S_IFCHR | 0666, makedev(nodes[at].major, nodes[at].minor)) == 0, path);
      require(chmod(path, 0666) == 0, path);
      continue;
    }
    char host[64]; /* only root of the machine makes nodes; anybody binds those that are there */
    snprintf(host, sizeof host, "/dev/%s", nodes[at].name);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    require(file >= 0 && close(file) == 0 && mount(host, path, NULL, MS_BIND, NULL) == 0, host);
  }
  for (size_t at = 0; at < sizeof links / sizeof *links; at++) {
    snprintf(path, sizeof path, "dev/%s", links[at][1]);
    require(symlink(links[at][0], path) == 0, path);
  }
  require(mkdir("dev/shm", 01777) == 0, "make dev/shm");
  require(mkdir("dev/pts", 0755) == 0, "make dev/pts");
  require(mount(NULL, "dev", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k") == 0,
          "make dev read-only");
}

/* Where a child attaches the layers it stands on. */
static void make_layer_points(void) {
  char path[32];
  require(mkdir("layers", 0755) == 0, "make layers");
  for (int at = 0; at < LAYERS_MAX; at++) {
    snprintf(path, sizeof path, "layers/%d", at);
    require(mkdir(path, 0755) == 0, path);
  }
}

void staging_prepare(const char *store, const char *run_folder) {
  require(unshare(CLONE_NEWNS) == 0, "unshare the mount namespace");
  require(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "make mounts private");
  require(mount("tmpfs", run_folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") == 0, "mount the staging root");
  require(chdir(run_folder) == 0, "enter the staging root");
  require(mkdir("images", 0755) == 0 && mkdir("box", 0755) == 0 && mkdir("proc", 0755) == 0, "make staging folders");
  bind_read_only(store, "images");
  make_layer_points();
  bind_system();
  make_devices();
  require(machine_open(), "prepare the views of the machine");
  /* A sandbox may mount its own /proc only where one is in full view. */
  require(mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL) == 0, "bind /proc");
  require(syscall(SYS_pivot_root, ".", ".") == 0, "pivot into the staging root");
  require(umount2(".", MNT_DETACH) == 0 && chdir("/") == 0, "detach the host's root");
}
