"""Whole trees: listing, download, upload, removal and watch. No link in a tree is ever followed.

A running command may change a tree under a walk; what is gone by the time it is looked at is left out.
"""
import posix

import _struct
import frames
import _stat as kinds
import system
from answers import (DENIED, DEPTH_MAX, INVALID_PATH, IS_FOLDER, NOT_FOLDER, PATH_BYTES_MAX, REFUSED_LINK, TEMPORARY,
                     TOO_LARGE, TREE_PATH_MAX, Answer, flush, out, why)
from files import FOLDER, give_to, is_proc, kind_of, make_folders, open_inside, open_parent, temporary_name
from records import RecordDecoder, record_head

BELOW = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
NO_FOLLOW = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
EEXIST, EMFILE, ENOENT, EISDIR, EPERM, ENOTEMPTY = 17, 24, 2, 21, 1, 39
WATCHES_MAX = 8192
# Created, modified, its status changed, removed, moved away and in; folders only, no link, nothing that has no name left.
WATCHED = 0x100 | 0x2 | 0x4 | 0x200 | 0x40 | 0x80 | 0x1000000 | 0x2000000 | 0x4000000
OVERFLOW, IGNORED, IS_DIR = 0x4000, 0x8000, 0x40000000


def names_of(fd):
    return sorted(name.encode("utf-8", "surrogateescape") for name in posix.listdir(fd))


class Walk:
    """Depth first and sorted by name. `visit` is given (path, folder, name, info), true to go on below it."""

    def __init__(self, visit, entries_max):
        self.visit, self.left = visit, entries_max

    def folder(self, fd, path=b"", depth=0):
        names = names_of(fd)
        if len(names) > self.left:
            raise Answer(TOO_LARGE)
        for name in names:
            try:
                info = posix.stat(name, dir_fd=fd, follow_symlinks=False)
            except OSError:
                continue  # gone meanwhile
            if self.left == 0:
                raise Answer(TOO_LARGE)
            self.left -= 1
            below = path + b"/" + name if path else name
            if len(below) + 1 > TREE_PATH_MAX:
                raise Answer(TOO_LARGE)
            if self.visit(below, fd, name, info) and kinds.S_ISDIR(info.st_mode):
                self._below(fd, name, below, depth)
        posix.close(fd)

    def _below(self, fd, name, path, depth):
        if depth >= DEPTH_MAX:
            raise Answer(TOO_LARGE)
        try:
            following = posix.open(name, BELOW, dir_fd=fd)
        except OSError as error:
            if error.errno == EMFILE:
                raise Answer(TOO_LARGE) from None
            return
        if is_proc(following):
            posix.close(following)
            return
        try:
            self.folder(following, path, depth + 1)
        except RecursionError:
            raise Answer(TOO_LARGE) from None


def walk_from(root, path, visit, entries_max):
    Walk(visit, entries_max).folder(open_inside(root, path, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NONBLOCK))


def list_tree(root, path, is_recursive, entries_max):
    def visit(below, folder, name, info):
        out(b"%s %o %d %s\0" % (kind_of(info).encode(), info.st_mode & 0o7777, info.st_size, below))
        return is_recursive

    walk_from(root, path, visit, entries_max)


def download_tree(root, path, bytes_max, entries_max):
    """Kind `r` is an entry that is named and not carried."""
    left = [bytes_max]

    def content(fd):
        while True:
            got = posix.read(fd, frames.PAYLOAD_MAX - 64)
            if len(got) > left[0]:
                raise Answer(TOO_LARGE)
            left[0] -= len(got)
            out(_struct.pack("<I", len(got)))
            if not got:
                return
            out(got)

    def file(below, folder, name):
        try:
            fd = posix.open(name, NO_FOLLOW, dir_fd=folder)
        except FileNotFoundError:
            return  # gone meanwhile
        except OSError:
            return out(record_head(b"r", below, 0))
        info = posix.fstat(fd)
        if not kinds.S_ISREG(info.st_mode):
            out(record_head(b"r", below, 0))
        elif info.st_size > left[0]:
            raise Answer(TOO_LARGE)
        else:
            out(record_head(b"f", below, info.st_mode & 0o7777))
            content(fd)
        posix.close(fd)

    def visit(below, folder, name, info):
        if len(below) >= PATH_BYTES_MAX:
            raise Answer(TOO_LARGE)
        if kinds.S_ISDIR(info.st_mode):
            is_refused = info.st_dev == posix.stat("/proc").st_dev
            out(record_head(b"r" if is_refused else b"d", below, info.st_mode & 0o7777))
            return not is_refused
        if kinds.S_ISREG(info.st_mode):
            file(below, folder, name)
        else:
            out(record_head(b"r", below, 0))
        return False

    walk_from(root, path, visit, entries_max)
    out(record_head(b"e", b"", 0))


def remove_tree(folder, name, depth):
    """Bounded in depth, since each level holds a descriptor."""
    try:
        return posix.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in (EISDIR, EPERM):  # EPERM is what POSIX has for a folder
            raise
    fd = posix.open(name, BELOW, dir_fd=folder)
    if depth >= DEPTH_MAX:
        posix.close(fd)
        raise OSError(EMFILE, "")
    try:
        for below in names_of(fd):
            remove_tree(fd, below, depth + 1)
    finally:
        posix.close(fd)
    try:
        posix.rmdir(name, dir_fd=folder)
    except FileNotFoundError:
        pass


class Upload:
    """A tree is built whole in a folder beside its place, then moved there, so that one that does not fit leaves nothing."""

    def __init__(self, anchor, bytes_max, entries_max, uid, gid):
        self.anchor, self.bytes_left, self.entries_left, self.uid, self.gid = anchor, bytes_max, entries_max, uid, gid
        self.building = temporary_name()
        self.parent_path, self.parent, self.file, self.mode = b"", -1, -1, 0
        posix.mkdir(self.building, 0o700, dir_fd=anchor)
        self.root = posix.open(self.building, BELOW, dir_fd=anchor)

    def _parent(self, path):
        """The folder a member goes into, which an earlier member made, and its name there."""
        if self.entries_left == 0:
            raise Answer(TOO_LARGE)
        self.entries_left -= 1
        above, _, name = path.rpartition(b"/")
        if not above:
            return self.root, name
        if self.parent < 0 or self.parent_path != above:
            if self.parent >= 0:
                posix.close(self.parent)
                self.parent = -1
            resolve = system.RESOLVE_BENEATH | system.RESOLVE_NO_SYMLINKS | system.RESOLVE_NO_XDEV
            self.parent = system.open_at(self.root, above + b"\0", FOLDER, resolve)
            self.parent_path = above
        return self.parent, name

    def on_folder(self, path, mode):
        folder, name = self._parent(path)
        try:
            posix.mkdir(name, mode, dir_fd=folder)
        except FileExistsError:
            raise Answer(INVALID_PATH) from None
        if (self.uid, self.gid) != (0, 0):
            try:
                posix.chown(name, self.uid, self.gid, dir_fd=folder, follow_symlinks=False)
            except OSError:
                raise Answer(DENIED) from None

    def on_file(self, path, mode):
        folder, name = self._parent(path)
        self.mode = mode
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
        try:
            self.file = posix.open(name, flags, 0o600, dir_fd=folder)
        except FileExistsError:
            raise Answer(INVALID_PATH) from None

    def on_content(self, data):
        if len(data) > self.bytes_left:
            raise Answer(TOO_LARGE)
        self.bytes_left -= len(data)
        system.write_all(self.file, data)

    def on_file_end(self):
        give_to(self.file, self.uid, self.gid)
        posix.fchmod(self.file, self.mode)
        posix.close(self.file)

    def take_input(self):
        decoder = RecordDecoder(self)
        while True:
            got = posix.read(0, frames.PAYLOAD_MAX)
            if not got:
                if decoder.is_ended:
                    return
                raise Answer(INVALID_PATH)  # a caller that failed, and knows it
            decoder.take(got)

    def place(self, root, path, target):
        if target < 0:
            posix.fchmod(self.root, 0o755)
            give_to(self.root, self.uid, self.gid)
            try:
                parent, name = open_parent(root, path)
            except FileNotFoundError:
                above, _, name = path.rstrip(b"/").rpartition(b"/")
                parent = make_folders(root, above, 0o755, self.uid, self.gid)
            try:
                posix.rename(self.building, name, src_dir_fd=self.anchor, dst_dir_fd=parent)
                return False
            except OSError as error:
                if error.errno not in (EEXIST, ENOTEMPTY):
                    raise
            target = posix.open(name, FOLDER | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=parent)  # made meanwhile
        for is_trial in (True, False):
            lay_over(posix.open(self.building, BELOW, dir_fd=self.anchor), target, is_trial, 0)
        return True


def lay_over(source, target, is_trial, depth):
    """Files replace files, folders meet, and no link in either is followed."""
    if depth >= DEPTH_MAX:
        raise Answer(TOO_LARGE)
    for name in names_of(source):
        ours = posix.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        try:
            theirs = posix.stat(name, dir_fd=target, follow_symlinks=False).st_mode
        except FileNotFoundError:
            theirs = None
        if theirs is not None and kinds.S_ISDIR(ours):
            if not kinds.S_ISDIR(theirs):
                raise Answer(REFUSED_LINK if kinds.S_ISLNK(theirs) else NOT_FOLDER)
            below = posix.open(name, FOLDER | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=target)
            lay_over(posix.open(name, BELOW, dir_fd=source), below, is_trial, depth + 1)
            posix.close(below)
        elif theirs is not None and kinds.S_ISDIR(theirs):
            raise Answer(IS_FOLDER)
        elif not is_trial:
            posix.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
    posix.close(source)


def open_anchor(root, path):
    """The target, or the nearest folder above it that is there; whether it is the target."""
    is_target = True
    while True:
        try:
            return open_inside(root, path or b"/", FOLDER), is_target
        except FileNotFoundError:
            is_target = False
            path = path.rstrip(b"/").rpartition(b"/")[0]


def upload_tree(root, path, bytes_max, entries_max, uid, gid):
    if len(path) >= PATH_BYTES_MAX:
        raise Answer(INVALID_PATH)
    anchor, is_target = open_anchor(root, path)
    upload = Upload(anchor, bytes_max, entries_max, uid, gid)
    is_left = True
    try:
        upload.take_input()
        is_left = upload.place(root, path, anchor if is_target else -1)
    finally:
        if is_left:  # all of the building, or the folders that met others
            remove_tree(anchor, upload.building, 0)


class Watch:
    """One watch per folder, set from the folder itself. Changes faster than they are taken end it, and never get lost."""

    def __init__(self, root, path):
        self.paths, self.last = {}, (b"", b"")
        self.top = open_inside(root, path, posix.O_RDONLY | posix.O_DIRECTORY)
        self.inotify = system.call(system.INOTIFY_INIT1, posix.O_CLOEXEC)
        self.folder(posix.dup(self.top), b"", False, 0)
        self.tell(b"b", b"")  # from here on nothing is missed

    def tell(self, kind, path):
        """The same change told twice in a row is one."""
        if kind == b"m" and self.last[0] != b"r" and self.last[1] == path:
            return
        self.last = (kind, path)
        out(kind + b" " + path + b"\0")

    def folder(self, fd, path, tells, depth):
        """What it holds already is told only where the folder came during the watch."""
        if depth > DEPTH_MAX or len(self.paths) == WATCHES_MAX:
            raise Answer(TOO_LARGE)
        posix.fchdir(fd)
        self.paths.setdefault(system.call(system.INOTIFY_ADD_WATCH, self.inotify, b".\0", WATCHED), path)
        for name in names_of(fd):
            below = path + b"/" + name if path else name
            if name.startswith(TEMPORARY) or len(below) + 1 > TREE_PATH_MAX:
                continue
            try:
                info = posix.stat(name, dir_fd=fd, follow_symlinks=False)
                if tells:
                    self.tell(b"c", below)
                following = posix.open(name, BELOW, dir_fd=fd) if kinds.S_ISDIR(info.st_mode) else -1
            except OSError:
                continue
            if following >= 0 and is_proc(following):
                posix.close(following)
            elif following >= 0:
                self.folder(following, below, tells, depth + 1)
        posix.close(fd)

    def event(self, number, mask, name):
        if mask & OVERFLOW:
            raise Answer(TOO_LARGE)
        folder = self.paths.get(number)
        if folder is None:
            return  # of a folder that left meanwhile
        if mask & IGNORED:
            del self.paths[number]
        elif name and not name.startswith(TEMPORARY):
            path = folder + b"/" + name if folder else name
            if mask & (0x200 | 0x40):
                self.tell(b"r", path)
                if mask & IS_DIR and mask & 0x40:
                    gone = [each for each, p in self.paths.items() if p == path or p.startswith(path + b"/")]
                    for each in gone:
                        del self.paths[each]
            elif mask & (0x100 | 0x80):
                self.tell(b"c", path)
                if mask & IS_DIR:
                    self._entered(path)
            else:
                self.tell(b"m", path)

    def _entered(self, path):
        try:
            fd = open_inside(self.top, path, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW)
        except OSError:
            return
        self.folder(fd, path, True, 0)


def watch_tree(root, path):
    watch = Watch(root, path)
    while True:
        flush()
        got = posix.read(watch.inotify, 65536)
        at = 0
        while at < len(got):
            number, mask, _, length = _struct.unpack_from("iIII", got, at)
            watch.event(number, mask, got[at + 16:at + 16 + length].rstrip(b"\0"))
            at += 16 + length
