"""A job from its request to its exit frame: a command, a kept shell or a file operation, always a child process.

A job ends when its direct child ends: what the pipes hold at that moment is sent, then the exit. A deadline sends TERM,
waits the grace, then ends the whole tree, and the exit is sent only when no process of it is left.
"""
import posix

import _signal
import frames
import processes
from children import JobStreams, run_child
from frames import CANCELLED, EXIT, IDLE_TIMED_OUT, OOM_KILLED, OUTPUT_LIMIT, TIMED_OUT
from shell import ShellRun
from streams import now_us

TICK_US = 2000
TREE_GONE_US = 2000000  # a killed tree that is not gone by then is stuck in the kernel; the exit says what it can
NEVER = 1 << 62
RUNNING, GRACE, KILLED = range(3)


def refuse(agent, channel, error):
    agent.send(channel, EXIT, 0, frames.EXIT_PAYLOAD.pack(2, 0, error, 0, 0, 0, 0, 0, 0, 0, 0, 0))


class Job:
    made = 0

    def __init__(self, agent, channel, request):
        Job.made += 1
        self.agent, self.id, self.mark, self.kind = agent, channel, Job.made, request.kind
        self.kills_at_limit, self.kills_descendants = request.kills_at_limit, request.kills_descendants
        self.grace_ms, self.idle_ms = request.grace_ms, request.idle_ms
        self.is_shell = request.kind == frames.JOB_SHELL
        self.executes = request.kind in (frames.JOB_COMMAND, frames.JOB_SHELL)
        self.phase, self.phase_us, self.flags = RUNNING, 0, 0
        self.is_reaped = self.is_draining = self.is_finished = False
        self.streams, self.status, self.usage = [], 0, None
        self.oom_before = agent.watchdog.kills
        self.started_us = self.idle_us = now_us()
        self.ended_us = 0
        self.deadline_us = NEVER if self.is_shell else self.started_us + request.timeout_ms * 1000
        self.shell = ShellRun(self) if self.is_shell else None
        self.error_fd = -1
        self.pid = self._start(request)

    def _start(self, request):
        opened = JobStreams(self.agent, self, request)
        self.error_fd, error_end = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        try:
            pid = posix.fork()
        except OSError:
            opened.close_ends()
            for stream in self.streams:
                stream.close()
            posix.close(self.error_fd)
            posix.close(error_end)
            raise
        if pid == 0:
            run_child(self, request, opened, error_end)
        opened.close_ends()
        posix.close(error_end)
        for stream in self.streams:
            if not stream.is_input:
                stream.watch()
        return pid

    def stream(self, name, is_input):
        return next((each for each in self.streams if each.name == name and each.is_input == is_input), None)

    def outputs(self):
        return [each for each in self.streams if not each.is_input and not each.is_report]

    def signal(self, number):
        if self.is_reaped:
            return
        if number == _signal.SIGKILL:
            self.end_tree()
        elif not processes.send_signal(-self.pid, number):
            processes.send_signal(self.pid, number)  # it has no group of its own yet

    def end_tree(self):
        """The child may not have its mark yet."""
        if not self.is_reaped:
            processes.send_signal(self.pid, _signal.SIGKILL)
        processes.kill_tagged(self.mark)

    def kill_now(self, flag):
        self.flags |= flag
        self.phase, self.phase_us = KILLED, now_us()
        self.end_tree()

    def over_limit(self):
        if self.kills_at_limit and not self.is_reaped and self.phase != KILLED:
            self.kill_now(OUTPUT_LIMIT)

    def cancel(self):
        self.kill_now(CANCELLED)

    def reaped(self, status, usage):
        self.is_reaped, self.status, self.usage, self.ended_us = True, status, usage, now_us()
        self.settle(self.ended_us)

    def settle(self, now):
        """After the direct child ended: sends the exit, now or once the tree is gone and the last output has gone out."""
        if (self.flags or self.phase == KILLED or self.kills_descendants) and processes.tagged(self.mark):
            if self.phase != KILLED:
                self.phase, self.phase_us = KILLED, now
            self.end_tree()
            if now - self.phase_us < TREE_GONE_US:
                return
        self.is_draining = True
        if not all([each.finish() for each in self.outputs()]):
            return
        self._send_exit()
        self.is_finished = True
        for stream in self.streams:
            # A terminal hangs up; a pipe is read on, so that a child that lives on does not die of it.
            if stream in self.outputs() and not stream.is_terminal:
                stream.watch()
            else:
                stream.close()

    def _start_error(self):
        try:
            told = posix.read(self.error_fd, 1)
        except OSError:
            told = b""
        posix.close(self.error_fd)
        return told[0] if told else 0

    def _send_exit(self):
        error = self._start_error()
        is_exit = posix.WIFEXITED(self.status)
        how = 2 if error else 0 if is_exit else 1
        code = 0 if error else posix.WEXITSTATUS(self.status) if is_exit else posix.WTERMSIG(self.status)
        if self.agent.watchdog.kills > self.oom_before:
            self.flags |= OOM_KILLED
        dropped = [stream.dropped if stream else 0 for stream in (self.stream(1, False), self.stream(2, False))]
        cpu_us = int((self.usage.ru_utime + self.usage.ru_stime) * 1000000)
        self.agent.send(self.id, EXIT, 0, frames.EXIT_PAYLOAD.pack(
            how, code, error, 0, self.flags, *dropped, self.ended_us - self.started_us, cpu_us,
            self.usage.ru_maxrss * 1024, 0, len(processes.tagged(self.mark))))

    def _lacks_credit(self):
        """A command that waits for its reader is not silent."""
        return any(each.fd >= 0 and each.credit <= 0 and each.sent < each.cap for each in self.outputs())

    def tick(self, now):
        """Moves it on; returns when it wants to be asked again."""
        if self.is_reaped:
            self.settle(now)
            return NEVER if self.is_finished or self.is_draining else now + TICK_US  # credit wakes the loop by itself
        if self.is_shell and self.shell.tick(now):
            return now + TICK_US
        idle_due = NEVER if self.idle_ms == 0 or self._lacks_credit() else self.idle_us + self.idle_ms * 1000
        if self.phase == RUNNING and now >= min(self.deadline_us, idle_due):
            self.flags |= TIMED_OUT if now >= self.deadline_us else IDLE_TIMED_OUT
            self.phase, self.phase_us = GRACE, now
            self.signal(_signal.SIGTERM)
        grace_due = self.phase_us + self.grace_ms * 1000
        if self.phase == GRACE:
            if now < grace_due:
                return grace_due
            self.phase, self.phase_us = KILLED, now
        if self.phase == KILLED:  # once more, for what was forked between the kill and the mark
            self.end_tree()
            return now + 50 * TICK_US
        return min(self.deadline_us, idle_due)

    def is_over(self):
        """A child that outlived the command may still write: its pipes are kept and emptied, or it would die of SIGPIPE."""
        return self.is_finished and all(stream.fd < 0 for stream in self.streams)
