/*
 * Starts a job: decodes the request, opens its streams, forks, and in the child joins the groups of the commands, drops
 * to the user and executes. A child that cannot start says why through a pipe that a successful exec closes.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHILD_FDS_FROM 1024 /* the child's ends lie here until they get the numbers the command expects */
#define REPORT_FD 201       /* of a kept shell; closed for everything the shell runs */
#define PIPE_FD_MAX 255

struct end {
  int fd, target;
};

void job_refuse(uint32_t id, enum start_error error) {
  uint8_t payload[56] = {0};
  uint16_t code = (uint16_t)error;
  payload[0] = 2;
  memcpy(payload + 2, &code, 2);
  send_frame(id, FRAME_EXIT, 0, payload, sizeof payload);
}

/* Splits the string block into cwd, argv and envp. The block ends with a NUL the channel reader wrote. */
static bool decode(uint8_t *payload, size_t bytes, struct exec_request *to) {
  const size_t fixed = 4 + 5 * 4 + 8 + 4;
  uint32_t envc;
  if (bytes < fixed) return false;
  memcpy(&to->kind, payload, 4);
  memcpy(&to->uid, payload + 4, 20);
  memcpy(&to->cap, payload + 24, 8);
  memcpy(&to->pipe_count, payload + 32, 4);
  size_t at = fixed;
  if (to->pipe_count > STREAMS_MAX - 3 || bytes < at + to->pipe_count * 8 + 8) return false;
  memcpy(to->pipes, payload + at, to->pipe_count * 8);
  at += to->pipe_count * 8;
  memcpy(&to->argc, payload + at, 4);
  memcpy(&envc, payload + at + 4, 4);
  at += 8;
  if (to->argc > bytes || envc > bytes) return false;
  to->argv = calloc((size_t)to->argc + envc + 2, sizeof(char *));
  if (to->argv == NULL) return false;
  to->envp = to->argv + to->argc + 1;
  for (uint32_t index = 0; index < 1 + to->argc + envc; index++) {
    if (at >= bytes) return false;
    char *text = (char *)payload + at;
    at += strlen(text) + 1;
    if (index == 0) to->cwd = text;
    else if (index <= to->argc) to->argv[index - 1] = text;
    else to->envp[index - 1 - to->argc] = text;
  }
  return true;
}

static struct stream *add_stream(struct job *job, int fd, uint16_t name, bool is_input, uint64_t cap) {
  struct stream *stream = &job->streams[job->stream_count++];
  *stream = (struct stream){.job = job, .fd = fd, .name = name, .is_input = is_input, .cap = cap};
  return stream;
}

/* One pipe between the job and the agent; `is_input` is seen from the command. */
static bool open_pipe(struct job *job, uint16_t name, bool is_input, uint64_t cap, struct end *end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  int ours = is_input ? ends[1] : ends[0];
  fcntl(ours, F_SETFL, O_NONBLOCK);
  *end = (struct end){.fd = is_input ? ends[0] : ends[1], .target = name};
  /* The command may open it again by /dev/fd, as its own user. */
  if (fchown(end->fd, job->uid, job->gid) != 0 && errno == EBADF) return false;
  add_stream(job, ours, name, is_input, cap);
  return true;
}

static bool open_duplex(struct job *job, uint16_t name, uint64_t cap, struct end *end) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *end = (struct end){.fd = ends[1], .target = name};
  int copy = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
  add_stream(job, ends[0], name, true, cap);
  add_stream(job, copy, name, false, cap);
  return copy >= 0;
}

static bool open_streams(struct job *job, const struct exec_request *request, struct end *ends, int *count) {
  bool ok = true;
  if (request->has_input) ok = open_pipe(job, 0, true, 0, &ends[(*count)++]);
  ok = ok && open_pipe(job, 1, false, request->cap, &ends[(*count)++]);
  if (ok && request->kind == JOB_SHELL) {
    /* One pipe under two numbers keeps standard output and error in the order they were written. */
    ends[*count] = (struct end){.fd = fcntl(ends[*count - 1].fd, F_DUPFD_CLOEXEC, 0), .target = 2};
    ok = ends[(*count)++].fd >= 0 && open_pipe(job, REPORT_FD, false, UINT64_MAX, &ends[(*count)++]);
    if (ok) job->streams[job->stream_count - 1].is_report = true;
    return ok;
  }
  ok = ok && open_pipe(job, 2, false, request->cap, &ends[(*count)++]);
  for (uint32_t at = 0; ok && at < request->pipe_count; at++) {
    uint16_t name = (uint16_t)request->pipes[at].fd;
    uint32_t ways = request->pipes[at].ways;
    if (name < 3 || name > PIPE_FD_MAX || job->stream_count + 2 > STREAMS_MAX) return false;
    if (ways == 3) ok = open_duplex(job, name, UINT64_MAX, &ends[(*count)++]);
    else ok = open_pipe(job, name, (ways & 1) != 0, UINT64_MAX, &ends[(*count)++]);
  }
  return ok;
}

static enum start_error why_not(const char *path, int error) {
  struct stat info;
  if (error == E2BIG) return TOO_LONG;
  if (error == EAGAIN || error == ENOMEM) return PROCESS_LIMIT;
  if (stat(path, &info) != 0) return errno == EACCES ? NOT_EXECUTABLE : NOT_FOUND;
  if (S_ISDIR(info.st_mode)) return IS_DIRECTORY;
  return error == ENOENT || error == ELIBBAD ? BAD_INTERPRETER : NOT_EXECUTABLE;
}

__attribute__((noreturn)) static void fail(int error_fd, enum start_error error) {
  uint8_t code = (uint8_t)error;
  if (write(error_fd, &code, 1) != 1) _exit(126);
  _exit(127);
}

/* Like execvpe, but it tells apart the reasons a caller may want to act on. */
__attribute__((noreturn)) static void execute(const struct exec_request *request, int error_fd) {
  const char *name = request->argv[0], *search = "";
  enum start_error error = NOT_FOUND;
  if (strchr(name, '/') != NULL) {
    execve(name, request->argv, request->envp);
    fail(error_fd, why_not(name, errno));
  }
  for (char **variable = request->envp; *variable != NULL; variable++)
    if (strncmp(*variable, "PATH=", 5) == 0) search = *variable + 5;
  while (*search != 0 && *name != 0) {
    char path[4096];
    size_t length = strcspn(search, ":");
    if (snprintf(path, sizeof path, "%.*s/%s", (int)length, search, name) < (int)sizeof path) {
      execve(path, request->argv, request->envp);
      enum start_error reason = why_not(path, errno);
      if (reason == TOO_LONG || reason == PROCESS_LIMIT) fail(error_fd, reason);
      if (reason != NOT_FOUND && error == NOT_FOUND) error = reason;
    }
    search += length + (search[length] == ':');
  }
  fail(error_fd, error);
}

__attribute__((noreturn)) static void child(const struct job *job, const struct exec_request *request, struct end *ends,
                                            int count, int error_fd) {
  sigset_t none;
  for (int at = 0; at < groups.join_count; at++)
    if (write(groups.join[at], "0", 1) != 1) fail(error_fd, PROCESS_LIMIT);
  if (job->leaf != NULL && job->leaf->tasks >= 0 && write(job->leaf->tasks, "0", 1) != 1) fail(error_fd, PROCESS_LIMIT);
  setsid();
  static const int ignored[] = {SIGPIPE, SIGINT, SIGHUP}; /* by the agent and the zygote, never by a command */
  for (size_t at = 0; at < sizeof ignored / sizeof *ignored; at++) signal(ignored[at], SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  error_fd = fcntl(error_fd, F_DUPFD_CLOEXEC, CHILD_FDS_FROM);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int at = 0; at < count; at++) ends[at].fd = fcntl(ends[at].fd, F_DUPFD_CLOEXEC, CHILD_FDS_FROM);
  if (!request->has_input) dup2(nothing, 0);
  for (int at = 0; at < count; at++)
    if (dup2(ends[at].fd, ends[at].target) < 0) fail(error_fd, PROCESS_LIMIT);
  umask(022);
  if (request->kind != JOB_COMMAND && request->kind != JOB_SHELL) {
    syscall(SYS_close_range, 3, ~0u, 0); /* no exec will: its own input would never end while it holds the other side */
    file_operation(request);
  }
  if (setresgid(job->gid, job->gid, job->gid) != 0 || setresuid(job->uid, job->uid, job->uid) != 0)
    fail(error_fd, NOT_EXECUTABLE);
  if (chdir(request->cwd) != 0) fail(error_fd, BAD_CWD);
  if (!seccomp_refuse_clone3()) fail(error_fd, PROCESS_LIMIT);
  execute(request, error_fd);
}

/* A fork; where v2 is there, right into the command's group, so that no process of it is ever outside. */
static pid_t fork_into(const struct leaf *leaf) {
  if (leaf == NULL || leaf->tasks >= 0) return fork();
  struct clone_args arguments = {
      .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)leaf->folder};
  return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static void abandon(struct job *job, struct end *ends, int count) {
  for (int at = 0; at < count; at++)
    if (ends[at].fd >= 0) close(ends[at].fd);
  for (int at = 0; at < job->stream_count; at++) close_stream(&job->streams[at]);
  if (job->error_fd >= 0) close(job->error_fd);
  leaf_give(job->leaf);
  free(job);
}

void job_start(uint32_t id, uint8_t *payload, size_t bytes) {
  struct exec_request request = {0};
  struct end ends[STREAMS_MAX + 1];
  int count = 0, errors[2] = {-1, -1};
  struct job *job = calloc(1, sizeof *job);
  if (job == NULL || !decode(payload, bytes, &request) || request.argc == 0) {
    free(job);
    free(request.argv);
    return job_refuse(id, NOT_FOUND);
  }
  /* Moving into a full group is allowed by the kernel, so the limit is asked for here. */
  bool is_full = groups.pids_now >= 0 && read_counter(groups.pids_now, NULL) >= processes_max;
  if (is_full && (request.kind == JOB_COMMAND || request.kind == JOB_SHELL)) {
    free(job);
    free(request.argv);
    return job_refuse(id, PROCESS_LIMIT);
  }
  *job = (struct job){.id = id, .uid = request.uid, .gid = request.gid, .kind = request.kind, .error_fd = -1,
                      .kills_at_limit = request.kills_at_limit, .kills_descendants = request.kills_descendants,
                      .grace_ms = request.grace_ms, .idle_ms = request.idle_ms, .started_us = clock_us()};
  job->oom_before = read_counter(groups.oom_events, "oom_kill");
  job->leaf = leaf_take();
  job->limit_before = leaf_limit_hits(job->leaf);
  /* Without its group a command could escape its limits or its end, so it does not start. */
  bool ok = (job->leaf != NULL || groups.leaf_root < 0) && open_streams(job, &request, ends, &count) && pipe2(errors, O_CLOEXEC) == 0;
  job->error_fd = errors[0];
  if (ok) fcntl(errors[0], F_SETFL, O_NONBLOCK);
  job->pid = ok ? fork_into(job->leaf) : -1;
  if (job->pid == 0) child(job, &request, ends, count, errors[1]);
  free(request.argv);
  if (errors[1] >= 0) close(errors[1]);
  if (job->pid < 0) {
    abandon(job, ends, count);
    return job_refuse(id, PROCESS_LIMIT);
  }
  for (int at = 0; at < count; at++) close(ends[at].fd);
  job->deadline_us = request.timeout_ms == 0 ? UINT64_MAX : job->started_us + (uint64_t)request.timeout_ms * 1000;
  job->idle_us = job->started_us;
  for (int at = 0; at < job->stream_count; at++)
    if (!job->streams[at].is_input) watch_stream(&job->streams[at]);
  job->next = jobs;
  jobs = job;
}
