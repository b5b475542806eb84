/*
 * Control groups of sandboxes, on v1, v2 or hybrid hosts: each controller is taken where it is mounted. The layout is
 * MOUNT/<owner>/<id> on v1 (the commands' group; the agent stays outside, so running out of memory or processes can
 * never take it) and MOUNT/<owner>/<id>/{agent,work} on v2, delegated to the sandbox's root so that the agent can make
 * one leaf per command below `work` and end a whole command with cgroup.kill.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MOUNTINFO /* a test gives it another file */
#define MOUNTINFO "/proc/self/mountinfo"
#endif

enum { MEMORY, PIDS, CPU, V2, HIERARCHIES };
#define CONNECTION_BYTES "memory.kmem.tcp.limit_in_bytes"
#define CONNECTION_BYTES_MIN (8u << 20)
static const char *const NAMES[] = {"memory", "pids", "cpu"};

static int owner_fd[HIERARCHIES] = {-1, -1, -1, -1}; /* our folder in each mounted hierarchy */
static int root_fd[HIERARCHIES] = {-1, -1, -1, -1};
static bool on_v2[3]; /* the controller is limited through the v2 mount */
static char owner_name[128];

static bool has_word(const char *list, const char *word, char separator) {
  size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
    bool starts = at == list || at[-1] == separator;
    char after = at[length];
    if (starts && (after == separator || after == 0 || after == '\n')) return true;
  }
  return false;
}

static void use_mount(int which, const char *path) {
  if (root_fd[which] >= 0) return;
  root_fd[which] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A mount line reads: id parent major:minor root point options … - type source superoptions. */
static void find_mounts(void) {
  FILE *file = fopen(MOUNTINFO, "re");
  char line[4096];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char point[1024], type[64], options[1024];
    char *rest = strstr(line, " - ");
    if (rest == NULL || sscanf(line, "%*s %*s %*s %*s %1023s", point) != 1) continue;
    if (sscanf(rest, " - %63s %*s %1023s", type, options) != 2) continue;
    if (strcmp(type, "cgroup2") == 0) use_mount(V2, point);
    if (strcmp(type, "cgroup") != 0) continue;
    for (int which = 0; which < V2; which++)
      if (has_word(options, NAMES[which], ',')) use_mount(which, point);
  }
  if (file != NULL) fclose(file);
}

/*
 * An ordinary user owns at most a part of the v2 tree: the nearest group at or above the one this process is in that it
 * may write to and that gives its children the controllers, or the nearest it may write to at all. The way up ends where
 * it may not move processes.
 */
static void use_delegated(void) {
  FILE *file = fopen("/proc/self/cgroup", "re");
  char line[1024], path[1024] = "", have[512];
  int root = root_fd[V2], best = -1;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "0::/%1023[^\n]", path) == 1) break;
  if (file != NULL) fclose(file);
  for (char *end = path; root >= 0 && path[0] != 0 && end != NULL;) {
    int folder = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || faccessat(folder, ".", W_OK, AT_EACCESS) != 0 || faccessat(folder, "cgroup.procs", W_OK, AT_EACCESS) != 0) {
      if (folder >= 0) close(folder);
      break;
    }
    int fd = openat(folder, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, have, sizeof have - 1);
    if (fd >= 0) close(fd);
    have[got > 0 ? got : 0] = 0;
    bool limits = has_word(have, "memory", ' ') && has_word(have, "pids", ' ');
    if (best < 0 || limits) {
      if (best >= 0) close(best);
      best = folder;
    } else {
      close(folder);
    }
    end = limits ? NULL : strrchr(path, '/');
    if (end != NULL) *end = 0;
  }
  if (root >= 0) close(root);
  root_fd[V2] = best;
}

static int make_folder(int parent, const char *name) {
  if (parent < 0 || (mkdirat(parent, name, 0755) != 0 && errno != EEXIST)) return -1;
  return openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void groups_open(const char *owner) {
  snprintf(owner_name, sizeof owner_name, "%s", owner);
  find_mounts();
  if (!maps_are_root()) use_delegated();
  char have[512] = "";
  if (root_fd[V2] >= 0) {
    int fd = openat(root_fd[V2], "cgroup.controllers", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, have, sizeof have - 1) < 0) have[0] = 0;
    if (fd >= 0) close(fd);
  }
  for (int which = 0; which < HIERARCHIES; which++) owner_fd[which] = make_folder(root_fd[which], owner_name);
  /* The first group with such a limit and the last cost the kernel much, those between nothing. */
  if (owner_fd[MEMORY] >= 0) write_text(owner_fd[MEMORY], CONNECTION_BYTES, "-1");
  for (int which = 0; which < V2; which++) {
    if (owner_fd[which] >= 0 || !has_word(have, NAMES[which], ' ')) continue;
    char enable[32];
    snprintf(enable, sizeof enable, "+%s", NAMES[which]);
    write_text(root_fd[V2], "cgroup.subtree_control", enable); /* may be on already; the next line tells */
    on_v2[which] = write_text(owner_fd[V2], "cgroup.subtree_control", enable);
  }
}

const char *groups_report(void) {
  static char text[192];
  const char *where[3];
  for (int which = 0; which < V2; which++) where[which] = owner_fd[which] >= 0 ? "v1" : on_v2[which] ? "v2" : "none";
  const char *kill = owner_fd[V2] >= 0 ? "v2" : owner_fd[PIDS] >= 0 ? "v1" : "none";
  snprintf(text, sizeof text, "memory=%s pids=%s cpu=%s kill=%s ids=%s", where[MEMORY], where[PIDS], where[CPU], kill,
           maps_report());
  return text;
}

static bool write_number(int folder, const char *name, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  return write_text(folder, name, text);
}

static int open_counter(int folder, const char *name) { return openat(folder, name, O_RDONLY | O_CLOEXEC); }

/* A thread that writes "0" to `tasks` moves itself without the machine-wide lock that `cgroup.procs` takes, and that lock
   waits for every processor to pass a quiet point: milliseconds for each command on an idle machine. */
static bool add_join(struct box_groups *out, int folder, int owner) {
  int fd = openat(folder, "tasks", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  out->park[out->join_count] = openat(owner, "tasks", O_WRONLY | O_CLOEXEC);
  out->join[out->join_count++] = fd;
  return out->park[out->join_count - 1] >= 0;
}

static bool limit_memory(const struct box_request *request, int folder, bool is_v2, struct box_groups *out) {
  /* Pages of the sandbox's own tmpfs are charged here too. With their room added, writing too much meets ENOSPC,
     which a command can handle, before it meets the OOM killer, which it cannot. */
  uint64_t bytes = request->memory_bytes + request->disk_bytes + request->shm_bytes, tcp = request->memory_bytes / 4;
  if (!write_number(folder, is_v2 ? "memory.max" : "memory.limit_in_bytes", bytes)) return false;
  if (is_v2) write_text(folder, "memory.swap.max", "0");
  else write_number(folder, "memory.memsw.limit_in_bytes", bytes); /* absent without swap accounting */
  /* v1 counts what waits in connections apart, and only where it has a limit. */
  if (!is_v2) write_number(folder, CONNECTION_BYTES, tcp > CONNECTION_BYTES_MIN ? tcp : CONNECTION_BYTES_MIN);
  out->oom_events = open_counter(folder, is_v2 ? "memory.events" : "memory.oom_control");
  out->memory_now = open_counter(folder, is_v2 ? "memory.current" : "memory.usage_in_bytes");
  out->memory_peak = open_counter(folder, is_v2 ? "memory.peak" : "memory.max_usage_in_bytes");
  return true;
}

static bool limit(int which, const struct box_request *request, int folder, bool is_v2, struct box_groups *out) {
  char text[64];
  if (which == MEMORY) return limit_memory(request, folder, is_v2, out);
  if (which == PIDS) {
    out->pids_now = open_counter(folder, "pids.current");
    out->pids_events = open_counter(folder, "pids.events");
    return write_number(folder, "pids.max", request->processes_max);
  }
  if (!is_v2) {
    out->cpu_events = open_counter(folder, "cpu.stat");
    return write_number(folder, "cpu.cfs_quota_us", request->cpu_quota_us);
  }
  snprintf(text, sizeof text, "%llu 100000", (unsigned long long)request->cpu_quota_us);
  return write_text(folder, "cpu.max", text);
}

/* Gives a group to the sandbox's root: it may make groups below and move its own processes between them. */
static bool delegate(int folder) {
  uid_t id = maps_box_root();
  return fchownat(folder, "", id, id, AT_EMPTY_PATH) == 0 && fchownat(folder, "cgroup.procs", id, id, 0) == 0;
}

static bool create_v2(const struct box_request *request, struct box_groups *out) {
  int box = make_folder(owner_fd[V2], request->id);
  if (box < 0) return false;
  for (int which = 0; which < V2; which++) {
    char enable[32];
    snprintf(enable, sizeof enable, "+%s", NAMES[which]);
    if (on_v2[which] && !write_text(box, "cgroup.subtree_control", enable)) return close(box), false;
  }
  out->clone_into = make_folder(box, "agent");
  out->leaf_root = make_folder(box, "work");
  out->leaf_kills = true;
  bool ok = out->clone_into >= 0 && out->leaf_root >= 0;
  for (int which = 0; ok && which < V2; which++)
    if (on_v2[which]) ok = limit(which, request, out->leaf_root, true, out);
  /* Each command's own group then counts its kills and its peak. The commands' group itself never holds a process. */
  if (ok && on_v2[MEMORY]) ok = write_text(out->leaf_root, "cgroup.subtree_control", "+memory");
  ok = ok && delegate(box) && delegate(out->clone_into) && delegate(out->leaf_root);
  if (ok) out->cpu_stat = open_counter(out->leaf_root, "cpu.stat");
  close(box);
  return ok;
}

static bool create_v1(int which, const struct box_request *request, struct box_groups *out) {
  int folder = make_folder(owner_fd[which], request->id);
  if (folder < 0) return false;
  bool ok = limit(which, request, folder, false, out);
  if (ok && which == PIDS && owner_fd[V2] < 0) { /* without v2 the leaves that find a command's tree live here */
    out->leaf_root = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    out->leaf_kills = false;
    out->leaf_join = openat(folder, "tasks", O_WRONLY | O_CLOEXEC);
    out->leaf_park = openat(owner_fd[which], "tasks", O_WRONLY | O_CLOEXEC);
    ok = out->leaf_join >= 0 && out->leaf_park >= 0 && delegate(folder);
  } else {
    ok = ok && add_join(out, folder, owner_fd[which]);
  }
  close(folder);
  return ok;
}

int groups_create(const struct box_request *request, struct box_groups *out) {
  *out = (struct box_groups){.leaf_root = -1, .leaf_join = -1, .leaf_park = -1, .clone_into = -1, .oom_events = -1, .memory_now = -1,
                             .memory_peak = -1, .pids_now = -1, .pids_events = -1, .cpu_stat = -1, .cpu_events = -1};
  bool ok = owner_fd[V2] < 0 || create_v2(request, out);
  for (int which = 0; ok && which < V2; which++)
    if (owner_fd[which] >= 0) ok = create_v1(which, request, out);
  if (ok) return 0;
  int error = errno;
  groups_close(out);
  groups_remove(request->id);
  errno = error;
  return -1;
}

/* Makes the commands' groups the top of what a command can see of the hierarchies: a namespace begins where its maker
   stands at that moment. Without this /proc/self/cgroup would tell each command of its owner on the host. */
const char *groups_hide(struct box_groups *groups) {
  const char *failed = NULL;
  for (int at = 0; at < groups->join_count; at++)
    if (write(groups->join[at], "0", 1) != 1) failed = "enter the control groups";
  if (groups->leaf_join >= 0 && write(groups->leaf_join, "0", 1) != 1) failed = "enter the control groups";
  if (failed == NULL && unshare(CLONE_NEWCGROUP) != 0) failed = "make the control group namespace";
  if (groups->leaf_park >= 0 && write(groups->leaf_park, "0", 1) != 1) failed = "leave the control groups";
  for (int at = 0; at < groups->join_count; at++) {
    if (failed == NULL && write(groups->park[at], "0", 1) != 1) failed = "leave the control groups";
    close(groups->park[at]);
  }
  if (groups->leaf_join >= 0) close(groups->leaf_join);
  if (groups->leaf_park >= 0) close(groups->leaf_park);
  return failed;
}

void groups_close(struct box_groups *groups) {
  for (int at = 0; at < groups->join_count; at++) {
    close(groups->join[at]);
    if (groups->park[at] >= 0) close(groups->park[at]);
  }
  int others[] = {groups->leaf_root,  groups->leaf_join,   groups->leaf_park, groups->clone_into,  groups->oom_events,
                  groups->memory_now, groups->memory_peak, groups->pids_now,  groups->pids_events, groups->cpu_stat,
                  groups->cpu_events};
  for (size_t at = 0; at < sizeof others / sizeof *others; at++)
    if (others[at] >= 0) close(others[at]);
}

/* True once the folder is gone. A control group's files vanish with it and cannot be removed. */
static bool remove_below(int parent, const char *name, bool has_files) {
  if (parent < 0) return true;
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (folder == NULL) return errno == ENOENT;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') remove_below(fd, entry->d_name, has_files);
    else if (has_files && entry->d_type != DT_DIR) unlinkat(fd, entry->d_name, 0);
  }
  closedir(folder);
  return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

bool remove_folder(int parent, const char *name) { return remove_below(parent, name, true); }

bool groups_remove(const char *id) {
  bool gone = true;
  for (int which = 0; which < HIERARCHIES; which++) gone = remove_below(owner_fd[which], id, false) && gone;
  return gone;
}

void groups_remove_owner(void) {
  for (int which = 0; which < HIERARCHIES; which++) remove_below(root_fd[which], owner_name, false);
}

int groups_freezer(const char *id) {
  char path[128];
  snprintf(path, sizeof path, "%s/work", id);
  errno = ENOSYS;
  return owner_fd[V2] < 0 ? -1 : openat(owner_fd[V2], path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}
