/*
 * The system call filter. One program is installed by the agent for itself and all that comes of it: it denies the doors
 * of the kernel a program of an episode has no use for. A second one is added by each command before it executes: it
 * refuses clone3, and in the strict profile every call that is not listed in seccomp-allowed.c.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the sandbox helper knows x86-64 and arm64"
#endif

/* Newer than the oldest headers this compiles with; such numbers are the same on every architecture. */
enum { QUOTACTL_FD = 443, MEMFD_SECRET = 447, SET_HOME_NODE = 450, STATMOUNT = 457, LISTMOUNT = 458, OPEN_TREE_ATTR = 467 };

static const int DENIED[] = {
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_open_by_handle_at, SYS_name_to_handle_at,
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct, SYS_quotactl, SYS_syslog, SYS_settimeofday,
    SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
    SYS_fanotify_init, SYS_vhangup, SYS_move_pages, SYS_migrate_pages, SYS_mbind, SYS_set_mempolicy,
    SYS_lookup_dcookie, SYS_nfsservctl, SYS_pidfd_getfd,
    SYS_io_setup, /* its contexts are counted for the whole machine */
    QUOTACTL_FD, MEMFD_SECRET, SET_HOME_NODE,
    STATMOUNT, LISTMOUNT, OPEN_TREE_ATTR,
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl,
#endif
};

/* Each namespace flag of clone(2) but CLONE_NEWTIME, which clone cannot take. */
#define NAMESPACE_FLAGS \
  (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP)

#define IOPRIO_OF_USER 3 /* IOPRIO_WHO_USER, which libc does not declare */
#define PROGRAM_MAX 1024
static struct sock_filter program[PROGRAM_MAX];
static unsigned short length;
static bool is_strict;

static void add(uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
  if (length < PROGRAM_MAX) program[length] = (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
  length++; /* a program that is too long is refused by the kernel, and with it the sandbox */
}
static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void answer(int error) { add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0); }
static void allow(void) { add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0); }
#define EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define AT_LEAST (BPF_JMP | BPF_JGE | BPF_K)
#define NUMBER offsetof(struct seccomp_data, nr)
#define ARGUMENT(index) (offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t))

static bool install(void) {
  struct sock_fprog filter = {.len = length, .filter = program};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

static void filter_arguments(void) {
  add(EQUAL, SYS_clone, 0, 4);
  load(ARGUMENT(0));
  add(BPF_JMP | BPF_JSET | BPF_K, NAMESPACE_FLAGS, 0, 1);
  answer(EPERM);
  allow();
  add(EQUAL, SYS_ioctl, 0, 5);
  load(ARGUMENT(1));
  add(EQUAL, TIOCSTI, 1, 0);
  add(EQUAL, TIOCLINUX, 0, 1);
  answer(EPERM);
  allow();
  /* Sockets: unix, IPv4, IPv6 and route netlink; a network namespace does not cover VSOCK or ALG. */
  add(EQUAL, SYS_socket, 1, 0);
  allow();
  load(ARGUMENT(0));
  add(EQUAL, AF_UNIX, 4, 0);
  add(EQUAL, AF_INET, 3, 0);
  add(EQUAL, AF_INET6, 2, 0);
  add(EQUAL, AF_NETLINK, 2, 0);
  answer(EAFNOSUPPORT);
  allow();
  load(ARGUMENT(2));
  add(EQUAL, 0, 0, 1);
  allow();
  answer(EAFNOSUPPORT);
}

const char *seccomp_install(bool strict) {
  is_strict = strict;
  length = 0;
  load(offsetof(struct seccomp_data, arch));
  add(EQUAL, NATIVE_ARCH, 1, 0);
  answer(ENOSYS); /* 32-bit calls would go around the numbers below */
  load(NUMBER);
  add(AT_LEAST, 0x40000000, 0, 1);
  answer(ENOSYS); /* x32 */
  for (size_t at = 0; at < sizeof DENIED / sizeof *DENIED; at++) {
    add(EQUAL, (uint32_t)DENIED[at], 0, 1);
    answer(EPERM);
  }
  filter_arguments();
  return install() ? NULL : "install the system call filter";
}

static bool is_denied(int number) {
  for (size_t at = 0; at < sizeof DENIED / sizeof *DENIED; at++)
    if (DENIED[at] == number) return true;
  return false;
}

/* What is denied to all keeps its EPERM, which the other filter gives; what is merely not listed answers ENOSYS, so that
   libraries do what they would on an older kernel. Numbers that follow one another share one test. */
static void filter_unlisted(void) {
  for (int from = 0, to; from < CALLS_END; from = to + 1) {
    to = from;
    if (!seccomp_is_ordinary(from) && !is_denied(from)) continue;
    while (to + 1 < CALLS_END && (seccomp_is_ordinary(to + 1) || is_denied(to + 1))) to++;
    add(AT_LEAST, (uint32_t)from, 1, 0);
    answer(ENOSYS);
    add(AT_LEAST, (uint32_t)to + 1, 1, 0);
    allow();
  }
  answer(ENOSYS);
}

/*
 * Two limits that nobody may change: the calls succeed and do nothing. A core limit of one byte keeps a core even from a
 * handler behind a pipe, and lowering it to 0, which many programs do, would call that handler again. The limit of
 * real-time computing is the mark of a command's processes (see tags.c).
 */
static void keep_limits(void) {
  add(EQUAL, SYS_prlimit64, 0, 10);
  load(ARGUMENT(1));
  add(EQUAL, RLIMIT_CORE, 2, 0);
  add(EQUAL, RLIMIT_RTTIME, 1, 0);
  allow();
  load(ARGUMENT(2)); /* both halves of a pointer, which is null for a mere question */
  add(EQUAL, 0, 0, 3);
  load(ARGUMENT(2) + sizeof(uint32_t));
  add(EQUAL, 0, 0, 1);
  allow();
  answer(0);
#ifdef SYS_setrlimit
  add(EQUAL, SYS_setrlimit, 0, 5);
  load(ARGUMENT(0));
  add(EQUAL, RLIMIT_CORE, 1, 0);
  add(EQUAL, RLIMIT_RTTIME, 0, 1);
  answer(0);
  allow();
#endif
}

/* Falls through with the number loaded again where argument `index` of `call` is another value. */
static void refuse_when(int call, unsigned index, uint32_t value) {
  add(EQUAL, (uint32_t)call, 0, 4);
  load(ARGUMENT(index));
  add(EQUAL, value, 0, 1);
  answer(EPERM);
  load(NUMBER);
}

/* Root of a sandbox has the agent's user id, by which alone the kernel lets it set these of PID 1: with a limit it could
   end or blind the agent, which would read as a fault of the machine. */
static void spare_agent(void) {
  static const int by_pid[] = {SYS_prlimit64, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
                               SYS_sched_setaffinity};
  for (size_t at = 0; at < sizeof by_pid / sizeof *by_pid; at++) refuse_when(by_pid[at], 0, 1);
  refuse_when(SYS_setpriority, 1, 1);
  refuse_when(SYS_setpriority, 0, PRIO_USER);
  refuse_when(SYS_ioprio_set, 1, 1);
  refuse_when(SYS_ioprio_set, 0, IOPRIO_OF_USER);
}

/* The flags of clone3 lie behind a pointer, where no filter can read them, and libc falls back to clone. The agent itself
   needs it, to start a command inside its control group, so each command adds this filter before it executes. */
bool seccomp_for_command(void) {
  length = 0;
  load(NUMBER);
  add(EQUAL, SYS_clone3, 0, 1);
  answer(ENOSYS);
  spare_agent();
  keep_limits();
  if (is_strict) filter_unlisted();
  else allow();
  return install();
}
