/*
 * What a command of the sandbox can never get back: capabilities beyond eight over its own namespace, kernel doors a
 * program of an episode has no use for, core dumps, the host's keyrings. The agent confines itself before it accepts a
 * command, so every command inherits it and none can be started without.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Enough for a package manager and for dropping to another user; each holds over the sandbox's own ids only. */
static const int KEPT[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                           CAP_SETUID, CAP_SETGID,       CAP_KILL,   CAP_NET_BIND_SERVICE};

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

static bool limit(int resource, rlim_t most) {
  struct rlimit now, wanted = {most, most};
  if (getrlimit(resource, &now) != 0) return false;
  if (now.rlim_max < most) wanted = (struct rlimit){now.rlim_max, now.rlim_max};
  return setrlimit(resource, &wanted) == 0;
}

/* One more for the agent, which is of the same user. */
bool confine_processes(uint64_t most) { return limit(RLIMIT_NPROC, most + 1); }

const char *confine_late(bool is_strict) {
  syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL); /* leaves the host's keyring behind, if any */
  /* A core limit of 0 would still start a core handler behind a pipe; 1 is the kernel's word for "not even that". */
  bool ok = limit(RLIMIT_CORE, 1) && limit(RLIMIT_NOFILE, 4096) && limit(RLIMIT_MEMLOCK, 8 << 20) &&
            limit(RLIMIT_MSGQUEUE, 819200) && limit(RLIMIT_SIGPENDING, 4096) && limit(RLIMIT_RTPRIO, 0) &&
            limit(RLIMIT_NICE, 0);
  if (!ok) return "set process limits";
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "set no_new_privs";
  const char *failed = drop_capabilities();
  if (failed != NULL) return failed;
  /* Nobody inside may trace the agent or read its memory: its /proc entry belongs to the host's root from here on. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return "hide the agent";
  return seccomp_install(is_strict);
}
