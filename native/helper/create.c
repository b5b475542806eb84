/*
 * Makes one sandbox: control groups, then one clone3 with all namespaces, then the id maps. The child prepares its own
 * root and confinement and becomes the agent; the accepted connection becomes its only channel. A failed step is told
 * over that channel and undone.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Moves the kept descriptors down to the numbers from 3, in their own order, so that none lands on one that has not moved
   yet, and closes all others. Low numbers also keep the agent's table small, of which every command gets a copy. */
static bool keep_low(int **kept, size_t count) {
  int next = 3;
  for (size_t from = 1; from < count; from++)
    for (size_t at = from; at > 0 && *kept[at] < *kept[at - 1]; at--) {
      int *lower = kept[at];
      kept[at] = kept[at - 1];
      kept[at - 1] = lower;
    }
  for (size_t at = 0; at < count; at++) {
    if (*kept[at] < 0) continue;
    bool ok = *kept[at] == next ? fcntl(next, F_SETFD, FD_CLOEXEC) == 0 : dup3(*kept[at], next, O_CLOEXEC) == next;
    if (!ok) return false;
    *kept[at] = next++;
  }
  return syscall(SYS_close_range, next, ~0u, 0) == 0;
}

/* The zygote holds the channel of every sandbox; a child that kept one would hide another sandbox's end. */
static const char *keep_only(bool is_blank, int *channel, int *go, struct box_groups *groups, struct box_storage *storage) {
  int *kept[14 + 2 * JOIN_MAX + LAYERS_MAX] = {
      channel,               go,
      &groups->leaf_root,    &groups->leaf_join,   &groups->leaf_park,  &groups->oom_events, &groups->memory_now,
      &groups->memory_peak,  &groups->pids_now,    &groups->pids_events, &groups->cpu_stat,  &groups->cpu_events,
      &storage->lent};
  size_t count = 13;
  storage->own = -1;
  for (int at = 0; at < groups->join_count; at++) {
    kept[count++] = &groups->join[at];
    kept[count++] = &groups->park[at];
  }
  for (int at = 0; at < storage->layer_count; at++) kept[count++] = &storage->layers[at];
  groups->clone_into = -1;
  if ((*channel < 0 && !is_blank) || *go < 0 || !keep_low(kept, count)) return "keep the channel";
  syscall(SYS_close_range, 0, 2, 0);
  for (int fd = 0; fd <= 2; fd++)
    if (open("/dev/null", O_RDWR) != fd) return "open /dev/null";
  return NULL;
}

__attribute__((noreturn)) static void child(const struct box_request *request, int channel, int go,
                                            struct box_groups groups, struct box_storage storage) {
  static struct box_request taken;
  bool is_blank = channel < 0;
  char byte;
  if (is_blank) prctl(PR_SET_NAME, "sandlot-blank");
  const char *failed = keep_only(is_blank, &channel, &go, &groups, &storage);
  /* Until the maps are written this process is nobody; it must not go on before. */
  if (failed == NULL && read(go, &byte, 1) != 1) _exit(1);
  if (failed == NULL && !maps_become_root()) failed = "become root of the sandbox";
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (failed == NULL) failed = groups_hide(&groups);
  if (failed == NULL) failed = confine_early();
  if (failed == NULL && (groups.leaf_root < 0 || groups.memory_now < 0) && !tags_open()) failed = "open the list of processes";
  if (failed == NULL && groups.pids_now < 0 && !confine_processes(request->processes_max)) failed = "limit the processes";
  if (is_blank) {
    if (failed != NULL || !blank_await(go, &taken, &channel, &storage)) _exit(1);
    request = &taken;
  }
  close(go);
  if (failed == NULL) failed = rootfs_enter(request, &storage);
  storage_close(&storage); /* attached by now */
  if (failed == NULL) failed = confine_late(request->is_strict);
  if (failed == NULL && fault_at(request, "confine")) failed = "confine";
  if (failed == NULL && fault_at(request, "first exec")) failed = "start the first command";
  if (failed != NULL) {
    char text[256];
    int bytes = snprintf(text, sizeof text, "%s: %s", failed, strerror(errno));
    frame_send_now(channel, 0, FRAME_ERROR, text, (uint32_t)bytes);
    _exit(1);
  }
  prctl(PR_SET_NAME, "sandlot-agent");
  agent_main(channel, channel, &groups, request);
}

bool fault_at(const struct box_request *request, const char *step) {
  if (request->fault[0] == 0 || strcmp(request->fault, step) != 0) return false;
  errno = request->fault_error;
  return true;
}

static pid_t clone_child(const struct box_request *request, int channel, int go, const struct box_groups *groups,
                         const struct box_storage *storage) {
  struct clone_args arguments = {
      .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC,
      .exit_signal = SIGCHLD,
  };
  if (groups->clone_into >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = (uint64_t)groups->clone_into;
  }
  pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) child(request, channel, go, *groups, *storage);
  return pid;
}

/* The child waits at `go` until its ids are mapped and the layers below it are sealed; one that never may go on is ended.
   A blank goes on as far as it can by itself. */
static pid_t start_child(const struct box_request *request, int channel, const struct box_groups *groups,
                         const struct box_storage *storage, int *later, const char **step) {
  int go[2];
  bool is_blank = channel < 0;
  *step = "open a pipe";
  if ((is_blank ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) : pipe2(go, O_CLOEXEC)) != 0) return -1;
  *step = "clone with namespaces";
  pid_t pid = clone_child(request, channel, go[0], groups, storage);
  close(go[0]);
  bool ok = pid > 0 && !fault_at(request, "clone");
  if (ok) {
    *step = "write the id maps and choose the cores";
    ok = maps_write(pid) && machine_pin(pid, request) && !fault_at(request, "maps");
  }
  bool is_held = !is_blank && layers_state(request->layers) == LAYERS_PENDING;
  ok = ok && (is_held || write(go[1], "g", 1) == 1);
  if (ok && (is_held || is_blank)) {
    *later = go[1];
    return pid;
  }
  int error = errno;
  if (!ok && pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    pid = -1;
  }
  close(go[1]);
  errno = error;
  return pid;
}

pid_t box_clone(const struct box_request *request, int channel, struct box_storage *storage, int *go, const char **step) {
  struct box_groups groups;
  *step = "make the control groups";
  if (groups_create(request, &groups) != 0) return -1;
  pid_t pid = -1;
  if (!fault_at(request, "groups")) {
    *step = "make the storage";
    if (channel < 0 || storage_open(request, storage)) pid = start_child(request, channel, &groups, storage, go, step);
  }
  int error = errno;
  storage_close(storage);
  groups_close(&groups);
  if (pid < 0) {
    if (storage->own >= 0) close(storage->own);
    storage->own = -1;
  }
  errno = error;
  return pid;
}
