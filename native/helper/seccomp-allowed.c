/*
 * The strict profile: every system call that interpreters, compilers, shells, version control, databases and servers
 * make in their ordinary work. Left out on purpose, beyond what is denied to all: tracing, kernel asynchronous input and
 * output of the old kind, SysV and POSIX message queues, real-time and input-output priorities of others, landlock,
 * memory protection keys, and every call newer than this list.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <sys/syscall.h>

#define FUTEX_WAITV 449
#define CACHESTAT 451
#define FCHMODAT2 452

static const int ORDINARY[] = {
    /* files */
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_preadv2,
    SYS_pwritev2, SYS_openat, SYS_openat2, SYS_close, SYS_close_range, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_statx,
    SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_faccessat2, SYS_ioctl, SYS_fcntl, SYS_flock, SYS_fsync, SYS_fdatasync,
    SYS_sync, SYS_syncfs, SYS_sync_file_range, SYS_truncate, SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_readahead,
    SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_mkdirat, SYS_unlinkat, SYS_linkat, SYS_symlinkat,
    SYS_readlinkat, SYS_renameat2, SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_mknodat, SYS_umask,
    SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr,
    SYS_llistxattr, SYS_flistxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_sendfile, SYS_splice,
    SYS_tee, SYS_copy_file_range, SYS_memfd_create, SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch,
    CACHESTAT,
    /* descriptors and waiting */
    SYS_dup, SYS_dup3, SYS_pipe2, SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait,
    SYS_epoll_pwait2, SYS_eventfd2, SYS_signalfd4, SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime,
    /* memory */
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2,
    SYS_munlock, SYS_membarrier, SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop,
    SYS_semctl,
    /* processes and signals */
    SYS_clone, SYS_clone3, SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_kill, SYS_tkill,
    SYS_tgkill, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_rt_sigpending, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_sigaltstack, SYS_restart_syscall, SYS_set_tid_address, SYS_set_robust_list, SYS_get_robust_list, SYS_futex,
    FUTEX_WAITV, SYS_rseq, SYS_prctl, SYS_seccomp, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgid, SYS_setpgid,
    SYS_getsid, SYS_setsid, SYS_capget, SYS_capset, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid,
    SYS_getresgid, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid,
    SYS_setfsgid, SYS_getgroups, SYS_setgroups, SYS_getrusage, SYS_times, SYS_prlimit64, SYS_getpriority, SYS_setpriority,
    SYS_ioprio_get, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam,
    SYS_sched_setparam, SYS_sched_getscheduler, SYS_sched_setscheduler, SYS_sched_getattr, SYS_sched_setattr,
    SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_getcpu,
    /* time, the machine, randomness */
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_gettimeofday, SYS_nanosleep, SYS_getitimer,
    SYS_setitimer, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete,
    SYS_uname, SYS_sysinfo, SYS_getrandom,
    /* sockets, whose families the other filter bounds */
    SYS_socket, SYS_socketpair, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_getsockname,
    SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg,
    SYS_recvmmsg, SYS_shutdown,
#ifdef __x86_64__
    /* the older names of the same, which only this architecture has */
    SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_poll, SYS_select, SYS_pipe, SYS_dup2, SYS_alarm, SYS_pause,
    SYS_fork, SYS_vfork, SYS_getdents, SYS_rename, SYS_renameat, SYS_mkdir, SYS_rmdir, SYS_link, SYS_unlink, SYS_symlink,
    SYS_readlink, SYS_chmod, SYS_chown, SYS_lchown, SYS_mknod, SYS_getrlimit, SYS_setrlimit, SYS_getpgrp, SYS_utime,
    SYS_utimes, SYS_futimesat, SYS_time, SYS_arch_prctl, SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_signalfd,
    SYS_inotify_init,
#elif defined(SYS_renameat)
    SYS_renameat,
#endif
};

bool seccomp_is_ordinary(int number) {
  for (size_t at = 0; at < sizeof ORDINARY / sizeof *ORDINARY; at++)
    if (ORDINARY[at] == number) return true;
  return false;
}
