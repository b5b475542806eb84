"""The processes of the sandbox: found by their command's mark, counted, watched for memory, listed.

Each command gets a limit of real-time computing that names it. Children inherit it and the system call filter lets
nobody change it, so whatever a command forked or detached is found by reading the limits of every process.
"""
import posix

import _signal
import _struct
import resource
from system import read_file, write_all

TAG_BASE = 0x53414E4400000000
PAGE = posix.sysconf("SC_PAGESIZE")
TICK_US = 1000000 // posix.sysconf("SC_CLK_TCK")
LOOK_US = 20000
IDLE_LOOK_US = 250000
WORDS_MAX = 4096
RECORD = _struct.Struct("<IIIIQQ")


def set_tag(number):
    """By the child of a command, before it becomes its user."""
    resource.setrlimit(resource.RLIMIT_RTTIME, (TAG_BASE + number, TAG_BASE + number))


def pids():
    return [int(name) for name in posix.listdir("/proc") if name.isdigit() and name != "1"]


def _text(pid, name):
    try:
        return read_file(f"/proc/{pid}/{name}")
    except OSError:
        return b""


def _has_tag(pid, wanted):
    line = _text(pid, "limits").partition(b"Max realtime timeout")[2].split(None, 1)[:1]
    # A dead one has no memory.
    return line == [wanted] and _text(pid, "statm")[:1] not in (b"", b"0")


def tagged(number):
    wanted = b"%d" % (TAG_BASE + number)
    return [pid for pid in pids() if _has_tag(pid, wanted)]


def kill_tagged(number):
    """Stops them first, so that none forks on while others are found, then kills until none is left or 50 rounds are over."""
    for stop in (_signal.SIGSTOP, _signal.SIGKILL):
        for _ in range(50):
            found = tagged(number)
            for pid in found:
                send_signal(pid, stop)
            if not found or stop == _signal.SIGSTOP and len(found) == len(tagged(number)):
                break


def send_signal(pid, number):
    try:
        posix.kill(pid, number)
        return True
    except OSError:
        return False


def _memory_of(pid, is_exact):
    """What a process holds for itself: its share of pages where it lets itself be seen, else all but files."""
    if is_exact:
        found = {line.split(b":")[0]: line.split()[1] for line in _text(pid, "smaps_rollup").splitlines()[1:]}
        if b"Pss_Anon" in found and b"Pss_Shmem" in found:
            return (int(found[b"Pss_Anon"]) + int(found[b"Pss_Shmem"])) * 1024
    words = _text(pid, "statm").split()
    return max(0, int(words[1]) - int(words[2])) * PAGE if len(words) > 2 else 0


class Watchdog:
    """The memory limit where no control group keeps it: the largest process is ended, as the kernel would. Sampled."""

    def __init__(self, limit_bytes, processes_max):
        self.limit_bytes, self.processes_max = limit_bytes, processes_max
        self.peak_bytes, self.kills, self.next_us = 0, 0, 0

    def usage(self):
        """Bytes, processes, and the largest of them."""
        for is_exact in (False, True):
            sizes = [(_memory_of(pid, is_exact), pid) for pid in pids()]
            total = sum(size for size, _ in sizes)
            # The cheap look counts pages shared since a fork once for each process, so it never says too little.
            if total <= self.limit_bytes:
                break
        self.peak_bytes = max(self.peak_bytes, total)
        return total, sum(size > 0 for size, _ in sizes), max(sizes, default=(0, 0))[1]

    def tick(self, now, is_busy):
        if now < self.next_us:
            return self.next_us
        total, _, largest = self.usage()
        # The kernel counts for each user alone; what is beyond the limit of all goes, the newest first.
        for pid in sorted(pids())[self.processes_max:]:
            send_signal(pid, _signal.SIGKILL)
        if total > self.limit_bytes and largest > 1 and send_signal(largest, _signal.SIGKILL):
            self.kills += 1
        self.next_us = now + (LOOK_US if is_busy else IDLE_LOOK_US)
        return self.next_us


def list_processes():
    """Run as a job of its own; neither the agent nor this job is the sandbox's own. Ends the process."""
    for pid in pids():
        if pid == posix.getpid():
            continue
        stat = _text(pid, "stat")
        name, _, rest = stat.partition(b"(")[2].rpartition(b")")  # the name may hold anything
        words = rest.split()
        try:
            uid = posix.stat(f"/proc/{pid}").st_uid
        except OSError:
            continue
        if len(words) < 22:
            continue
        command = _text(pid, "cmdline")[:WORDS_MAX].rstrip(b"\0").replace(b"\0", b" ") or b"[%s]" % name
        cpu_us = (int(words[11]) + int(words[12])) * TICK_US
        write_all(1, RECORD.pack(pid, int(words[1]), uid, len(command), cpu_us, int(words[21]) * PAGE) + command)
    posix._exit(0)


