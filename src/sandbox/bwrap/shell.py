"""A kept shell: one bash that reads its script from a pipe.

Each run is one line of that script, which evaluates the command and then reports on a descriptor of its own with a token
made for this run. A command that finds the descriptor anyway can only end its own run early.
"""
import posix

import _signal
import _struct
import processes
from frames import OOM_KILLED, SHELL_DONE, TIMED_OUT
from streams import now_us

HEAD = _struct.Struct("<IIQ16s")
BETWEEN_RUNS_MAX = 65536  # output of background children, held for the next run
GIVE_UP_US = 300000  # after its children are killed, the shell has this long to report before it is ended too
REPORT_MAX = 63


class ShellRun:
    def __init__(self, job):
        self.job, self.is_active, self.token, self.reported, self.killed_us = job, False, b"", b"", 0
        self.before = set()

    def begin(self, payload):
        job = self.job
        if job.is_reaped or len(payload) < HEAD.size:
            return  # its exit frame is on the way
        timeout_ms, job.grace_ms, cap, self.token = HEAD.unpack_from(payload)
        output = job.stream(1, False)
        output.cap, output.sent, output.dropped = cap, 0, 0
        self.is_active = True
        job.started_us = now_us()
        job.deadline_us = job.started_us + timeout_ms * 1000
        job.oom_before = job.agent.watchdog.kills
        self.before = set(processes.tagged(job.mark))
        job.stream(0, True).push(payload[HEAD.size:])

    def _finish(self, code):
        job = self.job
        output = job.stream(1, False)
        output.drain()  # what the command wrote is in the pipe by the time its end is reported
        if job.agent.watchdog.kills > job.oom_before:
            job.flags |= OOM_KILLED
        done = _struct.pack("<IIQQ", code, job.flags, output.dropped, now_us() - job.started_us)
        job.agent.send(job.id, SHELL_DONE, 0, done)
        self.is_active = False
        job.flags, job.phase, job.deadline_us = 0, 0, 1 << 62
        output.cap, output.sent, output.dropped = BETWEEN_RUNS_MAX, 0, 0

    def report(self, stream):
        """A report is "<token> <code>\\n"; any other token is of a run that is over, or a forgery, and is thrown away."""
        try:
            got = posix.read(stream.fd, REPORT_MAX - len(self.reported))
        except BlockingIOError:
            return
        if not got:
            return stream.close()
        *lines, self.reported = (self.reported + got).split(b"\n")
        for line in lines:
            if self.is_active and line[:17] == self.token + b" ":
                digits = line[17:].strip()
                self._finish(int(digits) & 255 if digits.isdigit() else 0)
        if len(self.reported) == REPORT_MAX:
            self.reported = b""

    def _signal_new(self, number):
        for pid in processes.tagged(self.job.mark):
            if pid != self.job.pid and pid not in self.before:
                processes.send_signal(pid, number)

    def tick(self, now):
        """Ends a run that is over its time: its processes first, and the shell itself only if it still does not report."""
        job = self.job
        if not self.is_active or job.phase == 2:
            return False
        if job.phase == 0:
            if now < job.deadline_us:
                return False
            job.flags |= TIMED_OUT
            job.phase, job.phase_us = 1, now
            self.killed_us = now + job.grace_ms * 1000
            self._signal_new(_signal.SIGTERM)
        if now < self.killed_us:
            return True
        self._signal_new(_signal.SIGKILL)
        if now < self.killed_us + GIVE_UP_US:
            return True
        job.phase, job.phase_us = 2, now
        job.end_tree()
        return False
