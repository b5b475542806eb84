"""The bytes of a job: input that waits for the command, output read only as far as the other side has room for it.

What is beyond a stream's cap is counted and dropped, and needs no room. A slow reader blocks a command in its own pipe.
"""
import posix

import _struct
import fcntl
import termios
import time
from frames import CREDIT, OUTPUT, PAYLOAD_MAX

OUTPUT_WINDOW = 262144
NO_CAP = (1 << 64) - 1
END_OF_INPUT = b"\x04"
TERMINAL_LAST_MAX = 131072  # more than a terminal can hold


class Stream:
    def __init__(self, agent, job, fd, name, is_input, cap):
        self.agent, self.job, self.fd, self.name, self.is_input, self.cap = agent, job, fd, name, is_input, cap
        self.is_report = self.is_terminal = self.is_watched = self.input_ended = self.is_last = False
        self.last_byte, self.sent, self.dropped, self.left, self.credit = b"", 0, 0, 0, OUTPUT_WINDOW
        self.queue = []
        posix.set_blocking(fd, False)
        job.streams.append(self)

    def watch(self):
        if not self.is_watched and self.fd >= 0:
            self.is_watched = True
            self.agent.watch(self)

    def unwatch(self):
        if self.is_watched:
            self.is_watched = False
            self.agent.unwatch(self)

    def close(self):
        if self.fd < 0:
            return
        self.unwatch()
        # A duplex stream is one socket under two descriptors; the other one goes on.
        if self.is_input and any(o is not self and o.fd >= 0 and o.name == self.name for o in self.job.streams):
            shutdown_writing(self.fd)
        posix.close(self.fd)
        self.fd = -1
        self.queue.clear()

    # Input

    def send_credit(self, count):
        self.agent.send(self.job.id, CREDIT, self.name, _struct.pack("<I", count))

    def push(self, data):
        """No bytes mean end of file."""
        if self.fd < 0 or self.input_ended:
            if data and not self.job.is_finished:
                self.send_credit(len(data))  # nobody reads it any more
        elif data:
            self.last_byte = data[-1:]
            self.queue.append(data)
            self.watch()
        else:
            self.end_input()

    def end_input(self):
        """A terminal has no end; in the middle of a line its sign must be given twice."""
        self.input_ended = True
        if self.is_terminal:
            is_line_open = self.last_byte not in (b"", b"\n")
            self.queue.append(END_OF_INPUT * (2 if is_line_open else 1))
            self.watch()
        elif not self.queue:
            self.close()

    def write_input(self):
        while self.queue:
            data = self.queue[0]
            try:
                written = posix.write(self.fd, data)
            except BlockingIOError:
                return
            except OSError:  # the command closed it; the sender must not wait for credit that never comes
                rest = sum(map(len, self.queue))
                self.close()
                return self.send_credit(rest)
            self.send_credit(written)
            if written < len(data):
                self.queue[0] = data[written:]
                return
            self.queue.pop(0)
        if self.input_ended and not self.is_terminal:
            return self.close()
        self.unwatch()  # an idle writable pipe would wake the loop for ever

    # Output

    def read_output(self, most):
        """Reads once; 0 at the end of the stream, or when nothing is there."""
        job = self.job
        try:
            data = posix.read(self.fd, min(most, PAYLOAD_MAX))
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            self.close()
            return 0
        if job.is_finished:
            return len(data)
        job.idle_us = now_us()
        kept = data[:max(0, self.cap - self.sent)]
        if kept:
            self.agent.send(job.id, OUTPUT, self.name, kept)
        self.sent += len(kept)
        self.credit -= len(kept)
        self.dropped += len(data) - len(kept)
        if self.dropped > 0:
            job.over_limit()
        return len(data)

    def room(self):
        """How much may be read now; what is only dropped needs no credit."""
        if self.job.is_finished or self.sent >= self.cap:
            return PAYLOAD_MAX
        return max(0, min(self.credit, PAYLOAD_MAX))

    def take_credit(self, count):
        self.credit = min(self.credit + count, OUTPUT_WINDOW)
        self.job.idle_us = now_us()  # it could not write meanwhile
        if not self.is_last:
            self.watch()

    def held(self):
        if self.fd < 0:
            return 0
        try:
            return _struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0\0\0\0"))[0]
        except OSError:
            return 0

    def drain(self):
        left = self.held()
        while left > 0 and self.fd >= 0:
            got = self.read_output(left)
            if got == 0:
                return
            left -= got

    def finish(self):
        """Everything the pipe held when the command ended, and not what a grandchild may write later; false without room."""
        if not self.is_last:
            self.is_last = True
            # A terminal's last bytes are still on their way to this side and are seen only by reading.
            self.left = TERMINAL_LAST_MAX if self.is_terminal else self.held()
            self.unwatch()
        while self.fd >= 0 and self.left > 0:
            room = self.room()
            if room == 0:
                return False
            got = self.read_output(min(self.left, room))
            if got == 0:
                break
            self.left -= got
        self.left = 0
        return True

    def ready(self):
        if self.fd < 0:
            return
        if self.is_input:
            self.write_input()
        elif self.is_report:
            self.job.shell.report(self)
        else:
            room = self.room()
            if room == 0:
                self.unwatch()  # until there is credit
            else:
                self.read_output(room)


def now_us():
    return time.monotonic_ns() // 1000


def shutdown_writing(fd):
    import _socket

    copy = _socket.socket(fileno=posix.dup(fd))
    try:
        copy.shutdown(_socket.SHUT_WR)
    except OSError:
        pass
    copy.close()
