"""The frames of an agent (see `src/sandbox/frames.ts`) as bytes only: no I/O and no state of the agent.

This agent is the reference of the protocol: what `native/helper` does in C it does in the plainest way.
It imports `posix` and `_signal` where `os` and `signal` would double the time a sandbox takes to start.
"""
import _struct

HEADER = _struct.Struct("<IIHH")
PAYLOAD_MAX = 65536
FLAG_MORE = 1

CREATE, EXEC, INPUT, SIGNAL, CANCEL, STATS, FREEZE, SHELL_RUN, RESIZE, OUTPUT_CREDIT, PING = range(1, 12)
READY, OUTPUT, EXIT, CREDIT, REPLY, GONE, ERROR, SHELL_DONE = range(33, 41)

JOB_COMMAND, JOB_READ, JOB_WRITE, JOB_LIST, JOB_SHELL, JOB_STAT, JOB_MKDIR, JOB_RENAME = range(8)
JOB_REMOVE, JOB_CHMOD, JOB_READ_RANGE, JOB_UPLOAD, JOB_DOWNLOAD, JOB_WATCH, JOB_DIFF, JOB_LAYER = range(8, 16)
JOB_PROCESSES = 21

NOT_FOUND, NOT_EXECUTABLE, IS_DIRECTORY, BAD_INTERPRETER, BAD_CWD, TOO_LONG, PROCESS_LIMIT = range(1, 8)
TIMED_OUT, IDLE_TIMED_OUT, OOM_KILLED, OUTPUT_LIMIT, CANCELLED = 1, 2, 4, 8, 16

REQUEST_MAX = 4 << 20
PIPES_MAX = 8
PIPE_FD_MAX = 255
FIXED = _struct.Struct("<BBBBIIIIIQIHH")
PIPE = _struct.Struct("<II")
EXIT_PAYLOAD = _struct.Struct("<BBBBIQQQQQII")
assert FIXED.size == 40 and EXIT_PAYLOAD.size == 56


def frame(channel, kind, flags, payload=b""):
    return HEADER.pack(len(payload), channel, kind, flags) + payload


class Request:
    """A request of a job, taken apart. Throws ValueError for bytes that are none."""

    def __init__(self, payload):
        if len(payload) < FIXED.size:
            raise ValueError("too short")
        (self.kind, kills_at_limit, kills_descendants, has_input, self.uid, self.gid, self.timeout_ms, self.idle_ms,
         self.grace_ms, self.cap, pipe_count, self.columns, self.rows) = FIXED.unpack_from(payload)
        self.kills_at_limit, self.kills_descendants = kills_at_limit != 0, kills_descendants != 0
        self.has_input = has_input != 0
        at = FIXED.size
        if pipe_count > PIPES_MAX or len(payload) - at < pipe_count * PIPE.size + PIPE.size:
            raise ValueError("cut off")
        self.pipes = [PIPE.unpack_from(payload, at + index * PIPE.size) for index in range(pipe_count)]
        if any(not (3 <= fd <= PIPE_FD_MAX and 1 <= ways <= 3) for fd, ways in self.pipes):
            raise ValueError("a descriptor that cannot be given")
        at += pipe_count * PIPE.size
        argc, envc = PIPE.unpack_from(payload, at)
        texts = bytes(payload[at + PIPE.size:]).split(b"\0")
        if argc == 0 or len(texts) - 1 < 1 + argc + envc:
            raise ValueError("too few words")
        self.cwd = texts[0]
        self.argv = texts[1:1 + argc]
        self.env = texts[1 + argc:1 + argc + envc]
