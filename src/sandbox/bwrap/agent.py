"""The agent of a sandbox that bubblewrap made: PID 1, frames on standard input and output, one loop around epoll.

It never blocks on a job, and stops reading the jobs' output while the channel is full, so its memory stays bounded
whatever they print. Its first frame says what the sandbox is; the end of the channel ends it, and with it everything.
"""
import posix

import _signal
import _struct
import children
import confine
import fcntl
import frames
import jobs
import processes
import resource
import select
from frames import HEADER, PAYLOAD_MAX, frame
from streams import now_us

OUT_HIGH = 262144  # above this the jobs' streams are not read
CHANNEL_FROM = 512  # above every number a command may be given
NO_COUNTER = (1 << 64) - 1


class Agent:
    def __init__(self, channel_in, channel_out):
        self.channel_in, self.channel_out = channel_in, channel_out
        self.jobs, self.by_fd, self.gathered, self.lost = [], {}, {}, set()
        self.pending, self.out = bytearray(), bytearray()
        self.is_paused = self.wants_write = self.is_frozen = False
        self.watchdog, self.command_filter = None, b""
        self.main, self.streams = select.epoll(), select.epoll()
        self.woken, waking = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        _signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, lambda number, at: None)
        for fd in (self.woken, channel_in, self.streams.fileno()):
            self.main.register(fd, select.EPOLLIN)
        self.main.register(channel_out, 0)

    # The channel

    def send(self, channel, kind, flags, payload=b""):
        self.out += frame(channel, kind, flags, payload)

    def flush(self):
        while self.out:
            try:
                sent = posix.write(self.channel_out, memoryview(self.out)[:1 << 20])
            except BlockingIOError:
                break
            except OSError:
                posix._exit(0)  # the owner is gone
            del self.out[:sent]
        if self.wants_write != bool(self.out):
            self.wants_write = bool(self.out)
            self.main.modify(self.channel_out, select.EPOLLOUT if self.wants_write else 0)
        if self.is_paused != (len(self.out) > OUT_HIGH):
            self.is_paused = not self.is_paused
            if self.is_paused:
                self.main.unregister(self.streams.fileno())
            else:
                self.main.register(self.streams.fileno(), select.EPOLLIN)

    def read_channel(self):
        try:
            got = posix.read(self.channel_in, 1 << 18)
        except BlockingIOError:
            return
        if not got:
            posix._exit(0)  # PID 1 ends, and with it the sandbox
        self.pending += got
        at = 0
        while len(self.pending) - at >= HEADER.size:
            count, channel, kind, flags = HEADER.unpack_from(self.pending, at)
            if count > PAYLOAD_MAX:
                posix._exit(1)
            start = at + HEADER.size
            if len(self.pending) < start + count:
                break
            at = start + count
            self.handle(channel, kind, flags, bytes(self.pending[start:at]))
        del self.pending[:at]

    # Frames

    def handle(self, channel, kind, flags, payload):
        job = self.job(channel)
        if kind == frames.CREATE:
            self.create(payload)
        elif kind in (frames.EXEC, frames.SHELL_RUN):
            self.request(channel, kind, flags, payload)
        elif kind in (frames.STATS, frames.FREEZE, frames.PING):
            {frames.STATS: self.stats, frames.FREEZE: self.freeze, frames.PING: self.pong}[kind](channel)
        elif job is None:
            return
        elif kind == frames.INPUT:
            stream = job.stream(flags, True)
            if stream is not None:
                stream.push(payload)
        elif kind == frames.SIGNAL:
            job.signal(flags)
        elif kind == frames.CANCEL:
            job.cancel()
        elif kind == frames.RESIZE and len(payload) == 8:
            output = job.stream(1, False)
            if output is not None and output.is_terminal and output.fd >= 0:
                children.set_size(output.fd, *(value & 0xFFFF for value in _struct.unpack("<II", payload)))
        elif kind == frames.OUTPUT_CREDIT and len(payload) == 4:
            stream = job.stream(flags, False)
            if stream is not None:
                stream.take_credit(_struct.unpack("<I", payload)[0])

    def job(self, channel):
        return next((each for each in self.jobs if each.id == channel and not each.is_finished), None)

    def create(self, payload):
        """NAME=VALUE, each ended by a zero byte."""
        self.main.unregister(self.woken)  # nothing can end yet
        request = dict(each.split(b"=", 1) for each in payload.split(b"\0") if each)
        try:
            confine.enter(request)
        except OSError as error:
            self.send(0, frames.ERROR, 0, f"prepare the sandbox: {error}".encode())
            self.flush()
            posix._exit(1)
        self.command_filter = confine.filter_of_commands(request[b"seccomp"] == b"strict")
        self.watchdog = processes.Watchdog(int(request[b"memory"]), int(request[b"processes"]))
        self.main.register(self.woken, select.EPOLLIN)
        self.send(0, frames.READY, 0)

    def request(self, channel, kind, flags, payload):
        """It may come in several frames."""
        parts = self.gathered.setdefault(channel, bytearray())
        if channel not in self.lost:
            parts += payload
            if len(parts) > frames.REQUEST_MAX:
                self.lost.add(channel)
        if flags & frames.FLAG_MORE:
            return
        del self.gathered[channel]
        if channel in self.lost:
            self.lost.discard(channel)
            return jobs.refuse(self, channel, frames.TOO_LONG)
        if kind == frames.SHELL_RUN:
            job = self.job(channel)
            if job is not None and job.shell is not None:
                job.shell.begin(bytes(parts))
            return
        try:
            request = frames.Request(parts)
        except ValueError:
            return jobs.refuse(self, channel, frames.NOT_FOUND)
        if self.is_frozen and request.kind in (frames.JOB_COMMAND, frames.JOB_SHELL):
            return jobs.refuse(self, channel, frames.PROCESS_LIMIT)
        try:
            self.jobs.append(jobs.Job(self, channel, request))
        except OSError:
            jobs.refuse(self, channel, frames.PROCESS_LIMIT)

    def stats(self, channel):
        """Eight counters; all ones where there is none: the watchdog's own stand in for a control group's."""
        disk = posix.statvfs("/")
        total, count, _ = self.watchdog.usage()
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        files = max(0, disk.f_files - disk.f_ffree - confine.files_before)
        values = (NO_COUNTER, total, self.watchdog.peak_bytes, used, count, self.watchdog.kills, NO_COUNTER, files)
        self.send(channel, frames.REPLY, 0, _struct.pack("<8Q", *values))

    def pong(self, channel):
        self.send(channel, frames.REPLY, 0)

    def freeze(self, channel):
        """Ends everything but the agent and keeps it so: a sandbox whose episode is over only gives out files."""
        self.is_frozen = True
        end = now_us() + 5000000
        while now_us() < end:
            processes.send_signal(-1, _signal.SIGKILL)
            if not self.reap():
                break
            select.select([], [], [], 0.0005)
        self.send(channel, frames.REPLY, 0)

    # Jobs

    def watch(self, stream):
        self.by_fd[stream.fd] = stream
        self.streams.register(stream.fd, select.EPOLLOUT if stream.is_input else select.EPOLLIN)

    def unwatch(self, stream):
        self.streams.unregister(stream.fd)
        self.by_fd.pop(stream.fd, None)

    def reap(self):
        """Also what commands left behind, which comes to PID 1. False when no child is left."""
        while True:
            try:
                pid, status, usage = posix.wait4(-1, posix.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            for job in self.jobs:
                if job.pid == pid and not job.is_reaped:
                    job.reaped(status, usage)

    def tick(self, now):
        due = jobs.NEVER
        for job in list(self.jobs):
            if not job.is_finished:
                due = min(due, job.tick(now))
            if job.is_over():
                self.jobs.remove(job)
        if self.watchdog is None:
            return due
        return min(due, self.watchdog.tick(now, bool(self.jobs)))

    def run(self):
        while True:
            now = now_us()
            due = self.tick(now)
            self.flush()
            wait_s = -1 if due >= jobs.NEVER else max(0, due - now) / 1000000
            for fd, events in self.main.poll(wait_s, 8):
                if fd == self.woken:
                    posix.read(self.woken, 4096)
                    self.reap()
                elif fd == self.channel_in:
                    self.read_channel()
                elif fd == self.channel_out:
                    if events & (select.EPOLLHUP | select.EPOLLERR):
                        posix._exit(0)  # nobody reads the answers any more
                else:
                    for ready, _ in self.streams.poll(0, 32):
                        if ready in self.by_fd:
                            self.by_fd[ready].ready()


def take_channel():
    """Out of the way of commands; nothing else that was inherited stays open."""
    from_fd = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, CHANNEL_FROM)
    to_fd = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, CHANNEL_FROM)
    nothing = posix.open("/dev/null", posix.O_RDWR)
    for fd in range(3):
        posix.dup2(nothing, fd, inheritable=True)
    posix.closerange(3, CHANNEL_FROM)
    for fd in (from_fd, to_fd):
        posix.set_blocking(fd, False)
    return from_fd, to_fd


def main(skeleton, filters):
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT):
        _signal.signal(number, _signal.SIG_DFL)  # as PID 1 the agent is spared their default
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    confine.prepare(skeleton, filters)
    agent = Agent(*take_channel())
    agent.run()
