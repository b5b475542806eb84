/*
 * Expected: prints nothing. Makes every system call a sandbox must refuse, with harmless arguments, and names each one
 * whose answer is not the expected one: EPERM, or ENOSYS for clone3 and for calls of other architectures.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL(name) {#name, SYS_##name}
static const struct { const char *name; long number; } calls[] = {
    CALL(unshare), CALL(setns), CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(open_tree),
    CALL(move_mount), CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(mount_setattr),
    CALL(open_by_handle_at), CALL(name_to_handle_at), CALL(bpf), CALL(perf_event_open), CALL(userfaultfd),
    CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register), CALL(keyctl), CALL(add_key), CALL(request_key),
    CALL(kexec_load), CALL(kexec_file_load), CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(swapon),
    CALL(swapoff), CALL(reboot), CALL(acct), CALL(quotactl), CALL(syslog), CALL(settimeofday), CALL(clock_settime),
    CALL(adjtimex), CALL(clock_adjtime), CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp),
    CALL(fanotify_init), CALL(vhangup), CALL(move_pages), CALL(migrate_pages), CALL(mbind), CALL(set_mempolicy),
    CALL(io_setup), CALL(pidfd_getfd), {"memfd_secret", 447}, {"quotactl_fd", 443}, {"statmount", 457}, {"listmount", 458},
#ifdef __x86_64__
    CALL(iopl), CALL(ioperm), CALL(modify_ldt), CALL(uselib), CALL(ustat), CALL(sysfs),
#endif
};
static const struct { const char *name; unsigned long flag; } spaces[] = {
    {"user", CLONE_NEWUSER}, {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID}, {"net", CLONE_NEWNET},
    {"uts", CLONE_NEWUTS},   {"ipc", CLONE_NEWIPC},  {"cgroup", CLONE_NEWCGROUP}};

static void expect(const char *name, long result, int wanted) {
  if (result != -1 || errno != wanted) printf("%s: %ld, errno %d\n", name, result, errno);
}

int main(void) {
  for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
    errno = 0;
    expect(calls[at].name, syscall(calls[at].number, 0, 0, 0, 0, 0, 0), EPERM);
  }
  for (size_t at = 0; at < sizeof spaces / sizeof *spaces; at++) {
    errno = 0;
    long pid = syscall(SYS_clone, spaces[at].flag | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    expect(spaces[at].name, pid, EPERM);
    if (pid > 0) waitpid((pid_t)pid, NULL, 0);
  }
  struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) _exit(0);
  expect("clone3", pid, ENOSYS);
#ifdef __x86_64__
  errno = 0;
  expect("x32 getpid", syscall(0x40000000 | SYS_getpid), ENOSYS);
  long compat;
  __asm__ volatile("int $0x80" : "=a"(compat) : "0"(20L /* getpid of 32 bits */) : "memory", "r8", "r9", "r10", "r11");
  if (compat != -ENOSYS) printf("int 0x80 getpid: %ld\n", compat);
#endif
  return 0;
}
