/*
 * User namespaces and their id maps. A sandbox's uid 0 is SUB_UID in the namespace of the zygote. For root that is the
 * machine's own namespace; an ordinary user's zygote first enters one of its own, in which the user is 0 and, where
 * /etc/subuid grants a range, that range lies at SUB_UID as it would for root. Without a range one id is all there is:
 * the sandbox's root is the user, and nobody else exists in it.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IDS_ROOT, IDS_RANGE, IDS_SELF };
static int ids = IDS_ROOT;

/* The user's name, as /etc/subuid may use it; the empty text when the machine knows none. */
static void find_name(uid_t uid, char *name, size_t room) {
  FILE *file = fopen("/etc/passwd", "re");
  char line[1024], found[128];
  unsigned number;
  name[0] = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "%127[^:]:%*[^:]:%u:", found, &number) == 2 && number == uid) {
      snprintf(name, room, "%s", found);
      break;
    }
  if (file != NULL) fclose(file);
}

/* The start of the user's first range that is wide enough, or 0. */
static unsigned long find_range(const char *path, uid_t uid) {
  FILE *file = fopen(path, "re");
  char line[512], who[128], name[128], number[16];
  unsigned long start, count, found = 0;
  find_name(uid, name, sizeof name);
  snprintf(number, sizeof number, "%u", uid);
  while (file != NULL && found == 0 && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "%127[^:]:%lu:%lu", who, &start, &count) == 3 && count >= SUB_UID_COUNT &&
        ((name[0] != 0 && strcmp(who, name) == 0) || strcmp(who, number) == 0))
      found = start;
  if (file != NULL) fclose(file);
  return found;
}

static bool run_mapper(const char *program, pid_t pid, unsigned id, unsigned long start) {
  char text[5][24];
  snprintf(text[0], sizeof text[0], "%d", pid);
  snprintf(text[1], sizeof text[1], "%u", id);
  snprintf(text[2], sizeof text[2], "%d", SUB_UID);
  snprintf(text[3], sizeof text[3], "%lu", start);
  snprintf(text[4], sizeof text[4], "%d", SUB_UID_COUNT);
  pid_t child = fork();
  if (child == 0) {
    char *const argv[] = {(char *)program, text[0], "0", text[1], "1", text[2], text[3], text[4], NULL};
    char *const envp[] = {NULL};
    execve(program, argv, envp);
    _exit(127);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* newuidmap must be started outside the new namespace, so a child that stayed behind starts it. */
static const char *enter_range(uid_t uid, gid_t gid) {
  unsigned long uids = find_range("/etc/subuid", uid), gids = find_range("/etc/subgid", uid);
  int go[2], status = -1;
  pid_t pid = getpid();
  errno = ENOENT;
  if (uids == 0 || gids == 0) return "find a range of 65536 ids in /etc/subuid and /etc/subgid";
  if (pipe2(go, O_CLOEXEC) != 0) return "open a pipe";
  pid_t helper = fork();
  if (helper == 0) {
    char byte;
    if (read(go[0], &byte, 1) != 1) _exit(1);
    _exit(run_mapper("/usr/bin/newuidmap", pid, uid, uids) && run_mapper("/usr/bin/newgidmap", pid, gid, gids) ? 0 : 1);
  }
  bool is_new = helper > 0 && unshare(CLONE_NEWUSER) == 0;
  int error = errno;
  if (is_new && write(go[1], "g", 1) != 1) is_new = false;
  close(go[0]);
  close(go[1]);
  bool is_mapped = helper > 0 && waitpid(helper, &status, 0) == helper && status == 0;
  if (!is_new) return errno = error, "make a user namespace";
  if (!is_mapped) return errno = EPERM, "map the range of ids with newuidmap and newgidmap";
  return setgroups(0, NULL) == 0 ? NULL : "leave the user's other groups";
}

static const char *enter_self(uid_t uid, gid_t gid) {
  char text[2][48];
  snprintf(text[0], sizeof text[0], "0 %u 1", uid);
  snprintf(text[1], sizeof text[1], "0 %u 1", gid);
  if (unshare(CLONE_NEWUSER) != 0) return "make a user namespace";
  bool ok = write_text(AT_FDCWD, "/proc/self/setgroups", "deny") && write_text(AT_FDCWD, "/proc/self/uid_map", text[0]) &&
            write_text(AT_FDCWD, "/proc/self/gid_map", text[1]);
  return ok ? NULL : "map the user's own id";
}

const char *maps_enter(void) {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  const char *wanted = getenv("SANDLOT_IDS");
  if (uid == 0) return NULL;
  ids = wanted != NULL && strcmp(wanted, "range") == 0 ? IDS_RANGE : IDS_SELF;
  return ids == IDS_RANGE ? enter_range(uid, gid) : enter_self(uid, gid);
}

const char *maps_report(void) { return ids == IDS_ROOT ? "root" : ids == IDS_RANGE ? "range" : "self"; }

bool maps_are_root(void) { return ids == IDS_ROOT; }

uid_t maps_box_root(void) { return ids == IDS_SELF ? 0 : SUB_UID; }

static bool write_map(pid_t pid, const char *name) {
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  snprintf(text, sizeof text, "0 %d %d", (int)maps_box_root(), ids == IDS_SELF ? 1 : SUB_UID_COUNT);
  return write_text(AT_FDCWD, path, text);
}

bool maps_write(pid_t pid) { return write_map(pid, "uid_map") && write_map(pid, "gid_map"); }

/* With one id only the kernel forbids setgroups; the groups of the user then show as nobody's and open nothing new. */
bool maps_become_root(void) {
  return setresgid(0, 0, 0) == 0 && (ids == IDS_SELF || setgroups(0, NULL) == 0) && setresuid(0, 0, 0) == 0;
}

/* inside PROGRAM ARGUMENT…: runs a program in the namespace a zygote of this user would have, to make or remove files
   of its range. */
int maps_inside(int argc, char **argv) {
  const char *failed = argc < 3 ? "name a program" : maps_enter();
  if (failed == NULL) execvp(argv[2], argv + 2);
  fprintf(stderr, "sandlot-helper inside: %s: %s\n", failed == NULL ? argv[2] : failed, strerror(errno));
  return 125;
}
