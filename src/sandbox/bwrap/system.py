"""System calls that the library has no name for, made without `ctypes`, whose import costs more than a sandbox's start."""
import posix

import _ctypes
import _struct

ENOENT, EAGAIN, ENOSYS, EXDEV, ELOOP = 2, 11, 38, 18, 40
O_PATH = 0o10000000
_IS_ARM = posix.uname().machine == "aarch64"
PRCTL, SECCOMP, FCHOWNAT, CAPSET = (167, 277, 54, 91) if _IS_ARM else (157, 317, 260, 126)
OPENAT2 = 437
INOTIFY_INIT1, INOTIFY_ADD_WATCH = (26, 27) if _IS_ARM else (294, 254)

RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT = 1, 2, 4, 8, 16
AT_EMPTY_PATH = 0x1000


class Long(_ctypes._SimpleCData):
    _type_ = "l"


class Char(_ctypes._SimpleCData):
    _type_ = "c"


class Pointer(_ctypes._SimpleCData):
    _type_ = "P"


class Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = Long


_LIBRARY = _ctypes.dlopen(None, 2)
_syscall = Function(_ctypes.dlsym(_LIBRARY, "syscall"))
_memset = Function(_ctypes.dlsym(_LIBRARY, "memset"))


def call(number, *arguments):
    """Integers and bytes; throws OSError."""
    words = [Long(each) if isinstance(each, int) else each for each in arguments]
    result = _syscall(Long(number), *words)
    result = result if isinstance(result, int) else result.value
    if result < 0:
        error = _ctypes.get_errno()
        raise OSError(error, posix.strerror(error))
    return result


def open_at(folder, path, flags, resolve):
    """openat2: tries again while a rename or a mount elsewhere makes the walk uncertain."""
    how = _struct.pack("<QQQ", flags | posix.O_CLOEXEC, 0, resolve)
    for tries in range(64):
        try:
            return call(OPENAT2, folder, path, how, len(how))
        except OSError as error:
            if error.errno != EAGAIN or tries == 63:
                raise
    raise AssertionError


def install_filter(program):
    """A seccomp program, for this process and all that comes of it."""
    buffer = type("Program", (_ctypes.Array,), {"_type_": Char, "_length_": len(program)}).from_buffer_copy(program)
    call(SECCOMP, 1, 0, _struct.pack("<HxxxxxxQ", len(program) // 8, _ctypes.addressof(buffer)))


def forget_words():
    """This process then shows no words in a list of processes."""
    with_words = read_file(b"/proc/self/stat").rpartition(b")")[2].split()
    start, end = int(with_words[45]), int(with_words[46])
    _memset(Pointer(start), Long(0), Long(end - start))


def read_file(path, folder=None):
    fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC, dir_fd=folder)
    try:
        parts = []
        while True:
            part = posix.read(fd, 65536)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        posix.close(fd)


def write_all(fd, data):
    view = memoryview(data)
    while len(view) > 0:
        view = view[posix.write(fd, view):]
