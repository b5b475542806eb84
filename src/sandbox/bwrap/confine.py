"""Makes the sandbox's own files and takes away what no command may ever get back, before the first command."""
import posix

import _struct
import resource
import system

PR_SET_DUMPABLE, PR_SET_NAME, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 4, 15, 47, 4
CAPABILITY_VERSION_3 = 0x20080522
# CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE
KEPT = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10

_skeleton, _filters = [], ()
files_before = 0


def prepare(skeleton, filters):
    global _skeleton, _filters
    _skeleton, _filters = skeleton, filters


def filter_of_commands(is_strict):
    """In addition to the agent's, added by each command before it executes, because only then is its mark set."""
    return _filters[2 if is_strict else 1]


def _place(path, mode, uid, kind, data):
    if kind == "link":
        posix.symlink(data, path)
    elif kind == "file":
        fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, 0o600)
        system.write_all(fd, data)
        posix.fchmod(fd, mode)
        posix.close(fd)
    else:
        try:
            posix.mkdir(path)
        except FileExistsError:
            pass  # a place for a mount, made before
        posix.chmod(path, mode)
    if uid != 0:
        posix.chown(path, uid, uid, follow_symlinks=False)


def _limit(kind, most):
    hard = resource.getrlimit(kind)[1]
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (wanted, wanted))


def enter(request):
    """Throws OSError. A limit of processes is the kernel's count of one user's; one more for the agent, which is root's."""
    global files_before
    posix.umask(0)
    is_single = request.get(b"ids") == b"self"
    for path, mode, uid, kind, data in _skeleton:
        _place(path, mode, 0 if is_single else uid, kind, data)
    posix.umask(0o022)
    disk = posix.statvfs("/")
    files_before = disk.f_files - disk.f_ffree
    cores = int(request[b"cores"])
    mine = sorted(posix.sched_getaffinity(0))
    first = int(request[b"first"]) % len(mine)
    posix.sched_setaffinity(0, [mine[(first + at) % len(mine)] for at in range(min(cores, len(mine)))])
    # A core limit of 0 would still start a core handler behind a pipe; 1 is the kernel's word for "not even that".
    for kind, most in (
        (resource.RLIMIT_CORE, 1),
        (resource.RLIMIT_NOFILE, 4096),
        (resource.RLIMIT_MEMLOCK, 8 << 20),
        (resource.RLIMIT_MSGQUEUE, 819200),
        (resource.RLIMIT_SIGPENDING, 4096),
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_NPROC, int(request[b"processes"]) + 1),
    ):
        _limit(kind, most)
    system.forget_words()
    system.call(system.PRCTL, PR_SET_NAME, b"sandlot-agent\0")
    # bwrap also makes them inheritable and ambient, so that a program that drops its own would hand them on.
    system.call(system.PRCTL, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    data = _struct.pack("<6I", KEPT, KEPT, 0, 0, 0, 0)
    system.call(system.CAPSET, _struct.pack("<Ii", CAPABILITY_VERSION_3, 0), data)
    # Nobody inside may trace the agent or read its memory.
    system.call(system.PRCTL, PR_SET_DUMPABLE, 0)
    system.install_filter(_filters[0])
