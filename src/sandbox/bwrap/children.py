"""The child of a job from its birth to its exec: its descriptors, its mark, its user, its folder, its filter."""
import posix

import _signal
import _struct
import fcntl
import frames
import processes
import system
import termios
from frames import BAD_CWD, BAD_INTERPRETER, IS_DIRECTORY, JOB_SHELL, NOT_EXECUTABLE, NOT_FOUND, PROCESS_LIMIT, TOO_LONG
from streams import NO_CAP, Stream, shutdown_writing

REPORT_FD = 201  # of a kept shell; closed for everything the shell runs
TIOCGPTPEER = 0x5441
E2BIG, EACCES, ENOMEM, ELIBBAD = 7, 13, 12, 80


def set_size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, _struct.pack("HHHH", rows, columns, 0, 0))  # tells the command by SIGWINCH


class JobStreams:
    """Both sides of a job's descriptors: ours become its streams, the command's are `ends` of (descriptor, number)."""

    def __init__(self, agent, job, request):
        self.agent, self.job, self.uid, self.gid, self.ends = agent, job, request.uid, request.gid, []
        self.is_terminal = request.columns > 0 and request.kind == frames.JOB_COMMAND
        try:
            self._open(request)
        except OSError:
            self.close_ends()
            for stream in job.streams:
                stream.close()
            raise

    def _open(self, request):
        if self.is_terminal:
            self._terminal(request)
        else:
            if request.has_input:
                self._pipe(0, True, 0)
            self._pipe(1, False, request.cap)
            if request.kind == JOB_SHELL:
                # One pipe under two numbers keeps standard output and error in the order they were written.
                self.ends.append((self.ends[-1][0], 2))
                self._pipe(REPORT_FD, False, NO_CAP).is_report = True
                return
            self._pipe(2, False, request.cap)
        for fd, ways in request.pipes:
            if ways & 2:
                self._duplex(fd, ways & 1)
            else:
                self._pipe(fd, True, 0)

    def close_ends(self):
        for fd in {fd for fd, _ in self.ends}:
            posix.close(fd)

    def _stream(self, fd, name, is_input, cap):
        return Stream(self.agent, self.job, fd, name, is_input, cap)

    def _pipe(self, name, is_input, cap):
        """`is_input` is seen from the command, which may open it again by /dev/fd, as its own user."""
        reading, writing = posix.pipe2(posix.O_CLOEXEC)
        ours, theirs = (writing, reading) if is_input else (reading, writing)
        self.ends.append((theirs, name))
        if self.uid != 0 or self.gid != 0:
            posix.chown(theirs, self.uid, self.gid)
        return self._stream(ours, name, is_input, cap)

    def _duplex(self, name, has_input):
        """Both ways, or end of file for what it reads."""
        import _socket

        one = [_socket.socket(fileno=each.detach()) for each in _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)]
        ours, theirs = (each.detach() for each in one)
        self.ends.append((theirs, name))
        self._stream(ours, name, False, NO_CAP)
        if has_input:
            self._stream(fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 3), name, True, 0)
        else:
            shutdown_writing(ours)

    def _terminal(self, request):
        ours = posix.open("/dev/pts/ptmx", posix.O_RDWR | posix.O_NOCTTY | posix.O_NONBLOCK | posix.O_CLOEXEC)
        fcntl.ioctl(ours, termios.TIOCSPTLCK if hasattr(termios, "TIOCSPTLCK") else 0x40045431, _struct.pack("i", 0))
        # By number and not by path: what lies at the path is not asked.
        theirs = fcntl.ioctl(ours, TIOCGPTPEER, posix.O_RDWR | posix.O_NOCTTY | posix.O_CLOEXEC)
        if request.uid != 0:
            posix.chown(theirs, request.uid, request.gid)
        set_size(ours, request.columns, request.rows)
        self.ends.extend((theirs, number) for number in range(3))
        self._stream(ours, 1, False, request.cap).is_terminal = True
        stream = self._stream(fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 3), 0, True, 0)
        stream.is_terminal = True
        if not request.has_input:
            stream.push(b"")

    def take(self):
        """In the child. Standard input is /dev/null in the agent too, and stays so where the command has none."""
        above = max(number for _, number in self.ends) + 1
        moved = [(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) if fd < above else fd, to) for fd, to in self.ends]
        for fd, to in moved:
            posix.dup2(fd, to, inheritable=True)
        if self.is_terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class CannotStart(Exception):
    def __init__(self, error):
        self.error = error


def run_child(job, request, opened, error_end):
    """Never returns; the child never runs the agent's own code again."""
    try:
        _child(job, request, opened)
    except CannotStart as reason:
        posix.write(error_end, bytes([reason.error]))
    except BaseException:
        if job.executes:
            posix.write(error_end, bytes([PROCESS_LIMIT]))
    finally:
        posix._exit(127)


def _child(job, request, opened):
    _signal.set_wakeup_fd(-1)
    processes.set_tag(job.mark)
    posix.setsid()
    _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    opened.take()
    posix.umask(0o022)
    if not job.executes:
        posix.closerange(3, 1 << 20)
        if request.kind == frames.JOB_PROCESSES:
            processes.list_processes()
        import files

        files.operation(request)
    try:
        posix.setresgid(request.gid, request.gid, request.gid)
        posix.setresuid(request.uid, request.uid, request.uid)
    except OSError:
        raise CannotStart(NOT_EXECUTABLE) from None
    try:
        posix.chdir(request.cwd)
    except OSError:
        raise CannotStart(BAD_CWD) from None
    system.install_filter(job.agent.command_filter)
    _execute(request)


def _why_not(path, error):
    if error == E2BIG:
        return TOO_LONG
    if error in (system.EAGAIN, ENOMEM):
        return PROCESS_LIMIT
    try:
        info = posix.stat(path)
    except OSError as reason:
        return NOT_EXECUTABLE if reason.errno == EACCES else NOT_FOUND
    if info.st_mode & 0o170000 == 0o040000:
        return IS_DIRECTORY
    return BAD_INTERPRETER if error in (system.ENOENT, ELIBBAD) else NOT_EXECUTABLE


def _execute(request):
    """Like execvpe, but it tells apart the reasons a caller may want to act on, and names a variable twice if asked to."""
    name = request.argv[0]
    env = {key: value for key, _, value in (each.partition(b"=") for each in request.env)}
    if b"/" in name:
        candidates = [name]
    else:
        path = env.get(b"PATH", b"")
        candidates = [folder + b"/" + name for folder in path.split(b":")] if path and name else []
    error = NOT_FOUND
    for candidate in candidates:
        if len(candidate) >= 4096 and candidate is not name:
            continue
        try:
            posix.execve(candidate, request.argv, env)
        except OSError as failed:
            reason = _why_not(candidate, failed.errno)
            if reason in (TOO_LONG, PROCESS_LIMIT):
                raise CannotStart(reason) from None
            if error == NOT_FOUND:
                error = reason
        except ValueError:  # a variable without a name
            raise CannotStart(NOT_FOUND) from None
    raise CannotStart(error)
