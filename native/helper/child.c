/*
 * The child of a job, from its birth to its exec: it joins the groups of the commands, takes its terminal and streams,
 * drops to its user and executes. It borrows the agent's memory until then where nothing in the sandbox could stop it
 * half-way, which would stop the agent too; else it is a fork.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
/* A sanitizer's picture of the stack does not survive a child that borrows memory. */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define BORROWS false
#else
#define BORROWS true
#endif

static enum start_error why_not(const char *path, int error) {
  struct stat info;
  if (error == E2BIG) return TOO_LONG;
  if (error == EAGAIN || error == ENOMEM) return PROCESS_LIMIT;
  if (stat(path, &info) != 0) return errno == EACCES ? NOT_EXECUTABLE : NOT_FOUND;
  if (S_ISDIR(info.st_mode)) return IS_DIRECTORY;
  return error == ENOENT || error == ELIBBAD ? BAD_INTERPRETER : NOT_EXECUTABLE;
}

/* The slot lies in memory both sides share until the exec, and in nothing a command can reach after it. */
__attribute__((noreturn)) static void fail(const struct job *job, enum start_error error) {
  *job->error = (uint8_t)error;
  _exit(127);
}

/* Like execvpe, but it tells apart the reasons a caller may want to act on. */
__attribute__((noreturn)) static void execute(const struct job *job, const struct exec_request *request) {
  const char *name = request->argv[0], *search = "";
  enum start_error error = NOT_FOUND;
  if (strchr(name, '/') != NULL) {
    execve(name, request->argv, request->envp);
    fail(job, why_not(name, errno));
  }
  for (char **variable = request->envp; *variable != NULL; variable++)
    if (strncmp(*variable, "PATH=", 5) == 0) search = *variable + 5;
  while (*search != 0 && *name != 0) {
    char path[4096];
    size_t length = strcspn(search, ":");
    if (snprintf(path, sizeof path, "%.*s/%s", (int)length, search, name) < (int)sizeof path) {
      execve(path, request->argv, request->envp);
      enum start_error reason = why_not(path, errno);
      if (reason == TOO_LONG || reason == PROCESS_LIMIT) fail(job, reason);
      if (reason != NOT_FOUND && error == NOT_FOUND) error = reason;
    }
    search += length + (search[length] == ':');
  }
  fail(job, error);
}

/* Standard input is /dev/null in the agent too, and stays so where the command has none. */
static bool take_streams(const struct start *start) {
  int highest = 2;
  for (int at = 0; at < start->count; at++)
    if (start->ends[at].target > highest) highest = start->ends[at].target;
  int fds[STREAMS_MAX + 1];
  for (int at = 0; at < start->count; at++) {
    fds[at] = start->ends[at].fd;
    if (fds[at] <= highest) fds[at] = fcntl(fds[at], F_DUPFD_CLOEXEC, highest + 1);
  }
  for (int at = 0; at < start->count; at++)
    if (dup2(fds[at], start->ends[at].target) < 0) return false;
  return start->request->columns == 0 || ioctl(0, TIOCSCTTY, 0) == 0;
}

static int child(void *argument) {
  const struct start *start = argument;
  const struct job *job = start->job;
  const struct exec_request *request = start->request;
  sigset_t none;
  for (int at = 0; at < groups.join_count; at++)
    if (write(groups.join[at], "0", 1) != 1) fail(job, PROCESS_LIMIT);
  if (job->leaf != NULL && job->leaf->tasks >= 0 && write(job->leaf->tasks, "0", 1) != 1) fail(job, PROCESS_LIMIT);
  if (job->leaf != NULL && job->leaf->is_mark && !tag_set(job->leaf->number)) fail(job, PROCESS_LIMIT);
  /* Where the kernel's choice under memory pressure includes the agent, it is to fall on a command. */
  if (groups.counts_agent) write_text(AT_FDCWD, "/proc/self/oom_score_adj", "500");
  setsid();
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (!take_streams(start)) fail(job, PROCESS_LIMIT);
  umask(022);
  if (request->kind != JOB_COMMAND && request->kind != JOB_SHELL) {
    close_others(request->kind);
    if (request->kind == JOB_PROCESSES) list_processes();
    file_operation(request);
  }
  if (setresgid(job->gid, job->gid, job->gid) != 0 || setresuid(job->uid, job->uid, job->uid) != 0)
    fail(job, NOT_EXECUTABLE);
  if (chdir(request->cwd) != 0) fail(job, BAD_CWD);
  if (!seccomp_for_command()) fail(job, PROCESS_LIMIT);
  execute(job, request);
}

/* clone3 onto a stack of the child's own. The call itself must not return in the child: it has nowhere to return to. */
static pid_t clone_onto(struct clone_args *arguments, int (*run)(void *), void *argument) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall\n\t"
                   "test %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xor %%ebp, %%ebp\n\t"
                   "mov %[argument], %%rdi\n\t"
                   "call *%[run]\n\t"
                   "ud2\n"
                   "1:"
                   : "=a"(result)
                   : "0"((long)SYS_clone3), "D"(arguments), "S"(sizeof *arguments), [run] "r"(run), [argument] "r"(argument)
                   : "rcx", "r11", "memory", "cc");
  return (pid_t)result;
#elif defined(__aarch64__)
  register long number __asm__("x8") = SYS_clone3;
  register long first __asm__("x0") = (long)arguments;
  register long second __asm__("x1") = sizeof *arguments;
  __asm__ volatile("svc #0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, xzr\n\t"
                   "mov x0, %[argument]\n\t"
                   "blr %[run]\n\t"
                   "brk #0\n"
                   "1:"
                   : "+r"(first)
                   : "r"(number), "r"(second), [run] "r"(run), [argument] "r"(argument)
                   : "memory", "cc");
  return (pid_t)first;
#endif
}

/* With v2 the child is born inside the command's group, so that no process of it is ever outside. */
pid_t child_start(struct start *start, bool is_alone) {
  static uint8_t stack[65536] __attribute__((aligned(16)));
  const struct leaf *leaf = start->job->leaf;
  bool is_born_inside = leaf != NULL && !leaf->is_mark && leaf->tasks < 0;
  bool executes = start->request->kind == JOB_COMMAND || start->request->kind == JOB_SHELL;
  struct clone_args arguments = {.exit_signal = SIGCHLD};
  if (is_born_inside) {
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.cgroup = (uint64_t)leaf->folder;
  }
  if (BORROWS && is_alone && executes) {
    arguments.flags |= CLONE_VM | CLONE_VFORK;
    arguments.stack = (uint64_t)(uintptr_t)stack;
    arguments.stack_size = sizeof stack;
    pid_t pid = clone_onto(&arguments, child, start);
    if (pid > 0) return pid;
    arguments.flags &= ~(uint64_t)(CLONE_VM | CLONE_VFORK);
    arguments.stack = arguments.stack_size = 0;
  }
  pid_t pid = is_born_inside ? (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments) : fork();
  if (pid == 0) _exit(child(start));
  return pid;
}
