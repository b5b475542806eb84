/*
 * The machine a sandbox sees, made equal to its limits: the cores it may run on, and generated files that state its
 * memory and cores, bound over the kernel's own. The zygote writes one folder of such files for each shape it meets and
 * keeps the newest; the agent binds them, so a creation pays for a handful of binds and no file.
 *
 * What stays the host's, because it moves all the time: /proc/stat, loadavg, uptime and vmstat. The generated meminfo
 * does not move either: it states the limit as free, and `stats` of the sandbox tells what is used. Affinity is what a
 * program sees and may change; the processor quota of the control group is what holds.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHAPES_MAX 64
#define CPUINFO_MAX (1u << 20)

static struct shape {
  uint64_t memory_bytes;
  unsigned cores, serial; /* serial 0: unused */
} shapes[SHAPES_MAX];
static unsigned serial, next_core, core_count;
static unsigned short cores[CPU_SETSIZE];
static int views = -1; /* the folder of shapes, writable only through this descriptor */
static char *cpuinfo;

static void find_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (unsigned core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, &set)) cores[core_count++] = (unsigned short)core;
}

static void read_cpuinfo(void) {
  int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  size_t have = 0;
  cpuinfo = calloc(1, CPUINFO_MAX + 1);
  for (ssize_t got; cpuinfo != NULL && fd >= 0 && have < CPUINFO_MAX; have += (size_t)got)
    if ((got = read(fd, cpuinfo + have, CPUINFO_MAX - have)) <= 0) break;
  if (fd >= 0) close(fd);
  if (cpuinfo != NULL) cpuinfo = realloc(cpuinfo, have + 1);
}

/* In the staging root, which is the working folder: the shapes' file system, then a read-only view of it. */
bool machine_open(void) {
  find_cores();
  read_cpuinfo();
  if (mkdir("views", 0755) != 0 || mount("tmpfs", "views", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=16m") != 0)
    return false;
  views = open("views", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (views < 0 || mount("views", "views", NULL, MS_BIND, NULL) != 0) return false;
  const unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return mount(NULL, "views", NULL, flags, NULL) == 0;
}

static bool make_file(int folder, const char *name, const char *text, size_t bytes) {
  int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  bool ok = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes;
  if (fd >= 0) close(fd);
  return ok;
}

static bool make_meminfo(int folder, uint64_t bytes) {
  char text[1024];
  unsigned long long kib = bytes / 1024;
  int length = snprintf(text, sizeof text,
                        "MemTotal:       %8llu kB\nMemFree:        %8llu kB\nMemAvailable:   %8llu kB\n"
                        "Buffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\n"
                        "Active:                0 kB\nInactive:              0 kB\nSwapTotal:             0 kB\n"
                        "SwapFree:              0 kB\nDirty:                 0 kB\nWriteback:             0 kB\n"
                        "AnonPages:             0 kB\nMapped:                0 kB\nShmem:                 0 kB\n"
                        "Slab:                  0 kB\nSReclaimable:          0 kB\nSUnreclaim:            0 kB\n"
                        "CommitLimit:    %8llu kB\nCommitted_AS:          0 kB\nHugePages_Total:       0\n"
                        "HugePages_Free:        0\nHugepagesize:       2048 kB\n",
                        kib, kib, kib, kib);
  return make_file(folder, "meminfo", text, (size_t)length);
}

/* The host's first processors, as many as the sandbox has. */
static bool make_cpuinfo(int folder, unsigned count) {
  const char *end = cpuinfo;
  for (unsigned at = 0; end != NULL && at < count; at++) {
    const char *next = strstr(end, "\n\n");
    end = next == NULL ? end + strlen(end) : next + 2;
  }
  return cpuinfo != NULL && make_file(folder, "cpuinfo", cpuinfo, (size_t)(end - cpuinfo));
}

/* /sys with nothing but the list of processors: what libc, lscpu and runtimes read before they ask the scheduler. */
static bool make_sys(int folder, unsigned count) {
  static const char *const lists[] = {"online", "possible", "present"};
  char text[32], path[64];
  int length = count > 1 ? snprintf(text, sizeof text, "0-%u\n", count - 1) : snprintf(text, sizeof text, "0\n");
  bool ok = mkdirat(folder, "sys", 0555) == 0 && mkdirat(folder, "sys/devices", 0555) == 0 &&
            mkdirat(folder, "sys/devices/system", 0555) == 0 && mkdirat(folder, "sys/devices/system/cpu", 0755) == 0;
  for (size_t at = 0; ok && at < sizeof lists / sizeof *lists; at++) {
    snprintf(path, sizeof path, "sys/devices/system/cpu/%s", lists[at]);
    ok = make_file(folder, path, text, (size_t)length);
  }
  for (unsigned at = 0; ok && at < count; at++) {
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u", at);
    ok = mkdirat(folder, path, 0555) == 0;
  }
  return ok;
}

static bool make_shape(const struct shape *shape) {
  char name[16];
  snprintf(name, sizeof name, "%u", shape->serial);
  int folder = mkdirat(views, name, 0755) == 0 ? openat(views, name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  bool ok = folder >= 0 && make_meminfo(folder, shape->memory_bytes) && make_cpuinfo(folder, shape->cores) &&
            make_sys(folder, shape->cores);
  if (folder >= 0) close(folder);
  return ok;
}

/* Live sandboxes keep what they have bound. */
static void drop_shape(const struct shape *shape) {
  char name[16];
  snprintf(name, sizeof name, "%u", shape->serial);
  remove_folder(views, name);
}

bool machine_choose(struct box_request *request) {
  if (core_count == 0 || views < 0) return errno = ENOSYS, false;
  uint64_t wanted = (request->cpu_quota_us + 99999) / 100000;
  request->cores = wanted >= core_count ? core_count : (unsigned)wanted;
  request->first_core = request->cores == core_count ? 0 : next_core;
  next_core = (request->first_core + request->cores) % core_count;
  for (size_t at = 0; at < SHAPES_MAX; at++)
    if (shapes[at].serial != 0 && shapes[at].cores == request->cores && shapes[at].memory_bytes == request->memory_bytes) {
      request->shape = shapes[at].serial;
      return true;
    }
  struct shape *shape = &shapes[serial % SHAPES_MAX];
  if (shape->serial != 0) drop_shape(shape);
  *shape = (struct shape){.memory_bytes = request->memory_bytes, .cores = request->cores, .serial = ++serial};
  if (make_shape(shape)) return request->shape = shape->serial, true;
  int error = errno;
  drop_shape(shape);
  shape->serial = 0;
  return errno = error, false;
}

/* By the zygote while the child waits: a running process would have to wait for its turn on the other core. */
bool machine_pin(pid_t pid, const struct box_request *request) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned at = 0; at < request->cores; at++) CPU_SET(cores[(request->first_core + at) % core_count], &set);
  return sched_setaffinity(pid, sizeof set, &set) == 0;
}

const char *machine_enter(const struct box_request *request) {
  static const char *const names[][2] = {{"meminfo", "proc/meminfo"}, {"cpuinfo", "proc/cpuinfo"}, {"sys", "sys"}};
  for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
    char from[64], to[64];
    snprintf(from, sizeof from, "/views/%u/%s", request->shape, names[at][0]);
    snprintf(to, sizeof to, BOX_ROOT "/%s", names[at][1]);
    if (mount(from, to, NULL, MS_BIND, NULL) != 0 && errno != ENOENT) return "bind the views of the machine";
  }
  return NULL;
}
