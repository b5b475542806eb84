/**
 * The strict profile as numbers: every system call that ordinary programs make, the list of
 * `native/helper/seccomp-allowed.c`. Each is a name, its number on x86-64 and on arm64, `-` where there is none.
 */
const ORDINARY = `
  read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
  preadv2 327 286, pwritev2 328 287, openat 257 56, openat2 437 437, close 3 57, close_range 436 436, lseek 8 62,
  fstat 5 80, newfstatat 262 79, statx 332 291, statfs 137 43, fstatfs 138 44, faccessat 269 48, faccessat2 439 439,
  ioctl 16 29, fcntl 72 25, flock 73 32, fsync 74 82, fdatasync 75 83, sync 162 81, syncfs 306 267,
  sync_file_range 277 84, truncate 76 45, ftruncate 77 46, fallocate 285 47, fadvise64 221 223, readahead 187 213,
  getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, mkdirat 258 34, unlinkat 263 35, linkat 265 37,
  symlinkat 266 36, readlinkat 267 78, renameat2 316 276, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452,
  fchown 93 55, fchownat 260 54, mknodat 259 33, umask 95 166, utimensat 280 88, setxattr 188 5, lsetxattr 189 6,
  fsetxattr 190 7, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12,
  flistxattr 196 13, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, sendfile 40 71, splice 275 76,
  tee 276 77, copy_file_range 326 285, memfd_create 319 279, inotify_init1 294 26, inotify_add_watch 254 27,
  inotify_rm_watch 255 28, cachestat 451 451, dup 32 23, dup3 292 24, pipe2 293 59, ppoll 271 73, pselect6 270 72,
  epoll_create1 291 20, epoll_ctl 233 21, epoll_pwait 281 22, epoll_pwait2 441 441, eventfd2 290 19,
  signalfd4 289 74, timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87, brk 12 214, mmap 9 222,
  munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, msync 26 227, mincore 27 232, mlock 149 228,
  mlock2 325 284, munlock 150 229, membarrier 324 283, shmget 29 194, shmat 30 196, shmdt 67 197, shmctl 31 195,
  semget 64 190, semop 65 193, semtimedop 220 192, semctl 66 191, clone 56 220, clone3 435 435, execve 59 221,
  execveat 322 281, exit 60 93, exit_group 231 94, wait4 61 260, waitid 247 95, kill 62 129, tkill 200 130,
  tgkill 234 131, pidfd_open 434 434, pidfd_send_signal 424 424, rt_sigaction 13 134, rt_sigprocmask 14 135,
  rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigsuspend 130 133, rt_sigtimedwait 128 137,
  rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, sigaltstack 131 132, restart_syscall 219 128,
  set_tid_address 218 96, set_robust_list 273 99, get_robust_list 274 100, futex 202 98, futex_waitv 449 449,
  rseq 334 293, prctl 157 167, seccomp 317 277, getpid 39 172, getppid 110 173, gettid 186 178, getpgid 121 155,
  setpgid 109 154, getsid 124 156, setsid 112 157, capget 125 90, capset 126 91, getuid 102 174, geteuid 107 175,
  getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150, setuid 105 146, setgid 106 144,
  setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149, setfsuid 122 151, setfsgid 123 152,
  getgroups 115 158, setgroups 116 159, getrusage 98 165, times 100 153, prlimit64 302 261, getpriority 140 141,
  setpriority 141 140, ioprio_get 252 31, sched_yield 24 124, sched_getaffinity 204 123, sched_setaffinity 203 122,
  sched_getparam 143 121, sched_setparam 142 118, sched_getscheduler 145 120, sched_setscheduler 144 119,
  sched_getattr 315 275, sched_setattr 314 274, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
  sched_rr_get_interval 148 127, getcpu 309 168, clock_gettime 228 113, clock_getres 229 114,
  clock_nanosleep 230 115, gettimeofday 96 169, nanosleep 35 101, getitimer 36 102, setitimer 38 103,
  timer_create 222 107, timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111,
  uname 63 160, sysinfo 99 179, getrandom 318 278, socket 41 198, socketpair 53 199, bind 49 200, listen 50 201,
  accept 43 202, accept4 288 242, connect 42 203, getsockname 51 204, getpeername 52 205, getsockopt 55 209,
  setsockopt 54 208, sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269,
  recvmmsg 299 243, shutdown 48 210, open 2 -, creat 85 -, stat 4 -, lstat 6 -, access 21 -, poll 7 -, select 23 -,
  pipe 22 -, dup2 33 -, alarm 37 -, pause 34 -, fork 57 -, vfork 58 -, getdents 78 -, rename 82 -, renameat 264 38,
  mkdir 83 -, rmdir 84 -, link 86 -, unlink 87 -, symlink 88 -, readlink 89 -, chmod 90 -, chown 92 -, lchown 94 -,
  mknod 133 -, getrlimit 97 -, setrlimit 160 -, getpgrp 111 -, utime 132 -, utimes 235 -, futimesat 261 -,
  time 201 -, arch_prctl 158 -, epoll_create 213 -, epoll_wait 232 -, eventfd 284 -, signalfd 282 -,
  inotify_init 253 -,
`;

/** Numbers of one architecture. */
export function ordinaryCalls(architecture: "x64" | "arm64"): ReadonlySet<number> {
  const column = architecture === "x64" ? 1 : 2;
  const numbers = ORDINARY.split(",").map((entry) => entry.trim().split(" ")[column]);
  return new Set(numbers.filter((number) => number !== undefined && number !== "-").map(Number));
}
