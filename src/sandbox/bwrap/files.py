"""The file operations, each run as a job of its own: the exit code is the answer.

Links are followed inside the sandbox's root only, by the kernel, and nothing of /proc is given out. Content goes through
standard input and output.
"""
import posix

import frames
import _stat as kinds
import system
import time
from answers import (DENIED, DONE, INVALID_PATH, IS_FOLDER, NOT_REGULAR, PATH_BYTES_MAX, REFUSED_LINK, TEMPORARY, TOO_LARGE,
                     UNSUPPORTED, Answer, out, finish, why)
from system import O_PATH, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS

FOLDER = O_PATH | posix.O_DIRECTORY


def is_proc(fd):
    return posix.fstat(fd).st_dev == posix.stat("/proc").st_dev


def open_inside(root, path, flags):
    """Opens inside the sandbox's root, whatever links are on the way; magic links and /proc are refused."""
    try:
        fd = system.open_at(root, path + b"\0", flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
    except OSError as error:
        raise OSError(system.ELOOP if error.errno == system.EXDEV else error.errno, "") from None
    if is_proc(fd):
        posix.close(fd)
        raise OSError(system.ELOOP, "")
    return fd


def give_to(fd, uid, gid):
    """Where the sandbox has one id only, giving to that one must not fail for being no change."""
    info = posix.fstat(fd)
    if (info.st_uid, info.st_gid) != (uid, gid):
        try:
            system.call(system.FCHOWNAT, fd, b"\0", uid, gid, system.AT_EMPTY_PATH)
        except OSError:
            raise Answer(DENIED) from None


def make_folders(root, path, mode, uid, gid):
    """The folder at `path`, made with what is missing above it; what it makes belongs to `uid`."""
    folder = open_inside(root, b"/", FOLDER)
    names = [name for name in path.split(b"/") if name]
    so_far = b""
    for at, name in enumerate(names):
        so_far += b"/" + name
        if len(so_far) >= PATH_BYTES_MAX:
            raise Answer(INVALID_PATH)
        is_made = False
        try:
            below = open_inside(root, so_far, FOLDER)
        except FileNotFoundError:
            try:
                posix.mkdir(name, mode if at == len(names) - 1 else 0o755, dir_fd=folder)
                is_made = True
            except FileExistsError:
                pass
            below = open_inside(root, so_far, FOLDER)
        if is_made:
            give_to(below, uid, gid)
        posix.close(folder)
        folder = below
    return folder


def open_parent(root, path):
    """The folder of an entry that need not be there, and its name."""
    above, _, name = (path.rstrip(b"/") or b"/").rpartition(b"/")
    if name in (b"", b".", b".."):
        raise Answer(INVALID_PATH)
    return open_inside(root, above or b"/", FOLDER), name


def temporary_name():
    return TEMPORARY + b"%d-%d" % (posix.getpid(), time.monotonic_ns())


def read_file(root, path, offset, most, is_whole):
    """At most `most` bytes from `offset`; where the whole file is wanted, more is an error."""
    # First without opening for reading: a device or a FIFO must not notice, and must not block.
    info = posix.fstat(open_inside(root, path, O_PATH))
    if kinds.S_ISDIR(info.st_mode):
        raise Answer(IS_FOLDER)
    if not kinds.S_ISREG(info.st_mode):
        raise Answer(NOT_REGULAR)
    fd = open_inside(root, path, posix.O_RDONLY | posix.O_NONBLOCK)
    info = posix.fstat(fd)
    if not kinds.S_ISREG(info.st_mode):
        raise Answer(NOT_REGULAR)
    if is_whole and info.st_size > most:
        raise Answer(TOO_LARGE)
    sent = 0
    while offset < 1 << 63:
        want = frames.PAYLOAD_MAX if is_whole else min(frames.PAYLOAD_MAX, most - sent)
        got = posix.pread(fd, want, offset + sent) if want > 0 else b""
        sent += len(got)
        if sent > most:
            raise Answer(TOO_LARGE)
        if not got:
            return
        out(got)


def write_file(root, path, mode, uid, gid):
    above, _, name = path.rpartition(b"/")
    if name in (b"", b".", b".."):
        raise Answer(IS_FOLDER)
    folder = make_folders(root, above, 0o755, uid, gid)
    try:
        if kinds.S_ISDIR(posix.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise Answer(IS_FOLDER)
    except FileNotFoundError:
        pass
    temporary = temporary_name()
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
    fd = posix.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        while True:
            got = posix.read(0, frames.PAYLOAD_MAX)
            if not got:
                break
            system.write_all(fd, got)
        # The owner first: changing it would clear setuid bits the caller asked for.
        give_to(fd, uid, gid)
        posix.fchmod(fd, mode & 0o7777)
        posix.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        posix.unlink(temporary, dir_fd=folder)
        raise


def stat_entry(root, path):
    info = posix.fstat(open_inside(root, path, O_PATH | posix.O_NOFOLLOW))
    seconds, nanoseconds = divmod(info.st_mtime_ns, 1000000000)
    words = (kind_of(info), "%o" % (info.st_mode & 0o7777), info.st_uid, info.st_gid, info.st_size, seconds, nanoseconds)
    out(" ".join(map(str, words)).encode())


def kind_of(info):
    mode = info.st_mode
    return "f" if kinds.S_ISREG(mode) else "d" if kinds.S_ISDIR(mode) else "l" if kinds.S_ISLNK(mode) else "o"


def rename_entry(root, source, target):
    source_folder, source_name = open_parent(root, source)
    target_folder, target_name = open_parent(root, target)
    posix.rename(source_name, target_name, src_dir_fd=source_folder, dst_dir_fd=target_folder)


def remove_entry(root, path, is_recursive):
    import trees

    folder, name = open_parent(root, path)
    info = posix.stat(name, dir_fd=folder, follow_symlinks=False)
    if is_recursive:
        trees.remove_tree(folder, name, 0)
    elif kinds.S_ISDIR(info.st_mode):
        posix.rmdir(name, dir_fd=folder)
    else:
        posix.unlink(name, dir_fd=folder)


def chmod_entry(root, path, mode):
    """Files and folders only. What it is was looked at before it is opened, so that no FIFO or device notices."""
    info = posix.fstat(open_inside(root, path, O_PATH | posix.O_NOFOLLOW))
    if kinds.S_ISLNK(info.st_mode):
        raise Answer(REFUSED_LINK)
    if not kinds.S_ISREG(info.st_mode) and not kinds.S_ISDIR(info.st_mode):
        raise Answer(NOT_REGULAR)
    posix.fchmod(open_inside(root, path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK), mode)


def _dispatch(request, root):
    import trees

    given, uid, gid = request.argv, request.uid, request.gid
    path = given[0]
    number = [int(word) if word.isdigit() else 0 for word in given]
    octal = [int(word, 8) if word.isdigit() and not word.strip(b"01234567") else 0 for word in given]
    operations = {
        frames.JOB_READ: (2, lambda: read_file(root, path, 0, number[1], True)),
        frames.JOB_READ_RANGE: (3, lambda: read_file(root, path, number[1], number[2], False)),
        frames.JOB_WRITE: (2, lambda: write_file(root, path, octal[1], uid, gid)),
        frames.JOB_LIST: (3, lambda: trees.list_tree(root, path, given[1][:1] == b"1", number[2])),
        frames.JOB_STAT: (1, lambda: stat_entry(root, path)),
        frames.JOB_MKDIR: (2, lambda: make_folders(root, path, octal[1] & 0o7777, uid, gid)),
        frames.JOB_RENAME: (2, lambda: rename_entry(root, path, given[1])),
        frames.JOB_REMOVE: (2, lambda: remove_entry(root, path, given[1][:1] == b"1")),
        frames.JOB_CHMOD: (2, lambda: chmod_entry(root, path, octal[1] & 0o7777)),
        frames.JOB_UPLOAD: (3, lambda: trees.upload_tree(root, path, number[1], number[2], uid, gid)),
        frames.JOB_DOWNLOAD: (3, lambda: trees.download_tree(root, path, number[1], number[2])),
        frames.JOB_WATCH: (1, lambda: trees.watch_tree(root, path)),
    }
    if request.kind in (frames.JOB_DIFF, frames.JOB_LAYER):
        raise Answer(UNSUPPORTED)
    count, run = operations.get(request.kind, (-1, None))
    if len(given) != count or (request.kind == frames.JOB_RENAME and given[1][:1] != b"/"):
        raise Answer(INVALID_PATH)
    run()


def operation(request):
    """Never returns."""
    try:
        root = posix.open("/", FOLDER | posix.O_CLOEXEC)
        posix.umask(0)
        if request.argv[0][:1] != b"/":
            raise Answer(INVALID_PATH)
        _dispatch(request, root)
        finish(DONE)
    except Answer as answer:
        finish(answer.code)
    except OSError as error:
        finish(why(error.errno))
    except MemoryError:
        finish(TOO_LARGE)
