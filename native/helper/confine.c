/*
 * What a command of the sandbox can never get back: capabilities beyond eight over its own namespace, kernel doors a
 * program of an episode has no use for, core dumps, the host's keyrings. The agent confines itself before it accepts a
 * command, so every command inherits it and none can be started without.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
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

/* Enough for a package manager and for dropping to another user; each holds over the sandbox's own ids only. */
static const int KEPT[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                           CAP_SETUID, CAP_SETGID,       CAP_KILL,   CAP_NET_BIND_SERVICE};

static const int DENIED[] = {
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_open_by_handle_at, SYS_name_to_handle_at,
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct, SYS_quotactl, SYS_syslog, SYS_settimeofday,
    SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
    SYS_fanotify_init, SYS_vhangup, SYS_move_pages, SYS_migrate_pages, SYS_mbind, SYS_set_mempolicy,
    SYS_lookup_dcookie, SYS_nfsservctl,
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl,
#endif
};

/* Each namespace flag of clone(2) but CLONE_NEWTIME, which clone cannot take. */
#define NAMESPACE_FLAGS \
  (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP)

static struct sock_filter program[256];
static unsigned short length;

static void add(uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
  program[length++] = (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
}
static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void answer(int error) { add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0); }
static void allow(void) { add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0); }
#define EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define ARGUMENT(index) (offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t))

static void build_filter(void) {
  load(offsetof(struct seccomp_data, arch));
  add(EQUAL, NATIVE_ARCH, 1, 0);
  answer(ENOSYS); /* 32-bit calls would go around the numbers below */
  load(offsetof(struct seccomp_data, nr));
  add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  answer(ENOSYS); /* x32 */
  for (size_t at = 0; at < sizeof DENIED / sizeof *DENIED; at++) {
    add(EQUAL, (uint32_t)DENIED[at], 0, 1);
    answer(EPERM);
  }
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
  /* Sockets: unix, IPv4, IPv6 and route netlink; a namespace does not cover VSOCK or ALG. */
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

const char *seccomp_install(void) {
  build_filter();
  struct sock_fprog filter = {.len = length, .filter = program};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) return "install the system call filter";
  return NULL;
}

/* The flags of clone3 lie behind a pointer, where no filter can read them, and libc falls back to clone. The agent itself
   needs it, to start a command inside its control group, so each command adds this one rule before it executes. */
bool seccomp_refuse_clone3(void) {
  struct sock_filter rule[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
      {EQUAL, 0, 1, SYS_clone3},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  struct sock_fprog filter = {.len = sizeof rule / sizeof *rule, .filter = rule};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

static const char *raise_loopback(void) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
  strcpy(request.ifr_name, "lo");
  bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  if (fd >= 0) close(fd);
  return ok ? NULL : "raise the loopback interface";
}

static bool is_kept(int capability) {
  for (size_t at = 0; at < sizeof KEPT / sizeof *KEPT; at++)
    if (KEPT[at] == capability) return true;
  return false;
}

static const char *drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2] = {0};
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
    if (!is_kept(capability) && prctl(PR_CAPBSET_READ, capability) == 1 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
      return "cut the bounding set";
  for (size_t at = 0; at < sizeof KEPT / sizeof *KEPT; at++) data[0].permitted |= 1u << KEPT[at];
  data[0].effective = data[0].permitted;
  return syscall(SYS_capset, &header, data) == 0 ? NULL : "drop capabilities";
}

/* Before the root changes, while the agent still holds every capability over its namespaces. */
const char *confine_early(void) {
  if (sethostname("sandbox", 7) != 0) return "set the host name";
  return raise_loopback();
}

const char *confine_late(void) {
  struct rlimit no_core = {0, 0}, files = {4096, 4096};
  syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL); /* leaves the host's keyring behind, if any */
  if (setrlimit(RLIMIT_CORE, &no_core) != 0 || setrlimit(RLIMIT_NOFILE, &files) != 0) return "set process limits";
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "set no_new_privs";
  const char *failed = drop_capabilities();
  if (failed != NULL) return failed;
  /* Nobody inside may trace the agent or read its memory: its /proc entry belongs to the host's root from here on. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return "hide the agent";
  return seccomp_install();
}
