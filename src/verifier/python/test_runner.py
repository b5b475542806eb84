"""Runs hidden test files in the verifier sandbox and reports each test in a signed frame.

Descriptor 3 takes frames, 4 brings a nonce once, 5 takes requests for the subject, 6 brings the replies. Only this
process holds them: each test file runs in a child of its own, which reports over a private socket. A test that hangs
or crashes its child is that test's result, and the rest of the file runs in a new child; but in a file that has touched
nothing of the agent's yet, it is a fault of the file.

What a child does is a module beside this file, named by the configuration: `run(config, file, done, socket)`, and where
it needs something of the image, `prepare(config)`, which raises `child_link.Missing`. The runner ends with 65 when a
hidden file itself is broken, with 75 when it hangs, and with 69 when the image lacks something; the last line of its
errors says what.
"""
import ctypes
import hashlib
import hmac
import importlib
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time

RESULT, NONCE, REQUESTS, REPLIES = 3, 4, 5, 6
KINDS = {"begin": 1, "test": 2, "log": 3, "end": 4}
DETAIL_MAX = 2000
# Of a report, in bytes; beyond it a test is told without its detail, for what a program says must not make a report too large.
DETAILS_MAX = 8 << 20
MESSAGE_MAX = 16 << 20
PR_SET_DUMPABLE = 4
EXIT_BROKEN, EXIT_MISSING, EXIT_HANGING = 65, 69, 75


def read_exactly(read, count):
    data = b""
    while len(data) < count:
        chunk = read(count - len(data))
        if not chunk:
            return None
        data += chunk
    return data


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def packed(message):
    body = json.dumps(message).encode("ascii")
    return struct.pack(">I", len(body)) + body


class Broken(Exception):
    """A hidden file is itself at fault, whatever the agent did."""

    code = EXIT_BROKEN


class Hanging(Broken):
    code = EXIT_HANGING


class Reporter:
    """Writes signed frames, numbered from 0."""

    def __init__(self, nonce):
        self.nonce = nonce
        self.sequence = 0
        self.tests = 0
        self.bytes = 0

    def send(self, kind, content):
        body = json.dumps(content).encode("ascii")
        head = struct.pack(">IIB", 5 + len(body) + 32, self.sequence, KINDS[kind])
        write_all(RESULT, head + body + hmac.digest(self.nonce, head + body, hashlib.sha256))
        self.sequence += 1
        self.bytes += len(head) + len(body)

    def test(self, test_id, status, seconds, detail):
        self.tests += 1
        # Capped by characters that JSON may write as twelve bytes each, so a frame stays far below its limit.
        detail = detail[:DETAIL_MAX] if self.bytes < DETAILS_MAX else ""
        content = {"id": test_id, "status": status, "durationMs": round(seconds * 1000, 3), "detail": detail}
        self.send("test", content)

    def log(self, text):
        if self.bytes < DETAILS_MAX:
            self.send("log", {"text": text[:DETAIL_MAX]})


class Messages:
    """Splits a stream into length-prefixed JSON messages without ever blocking on half of one."""

    def __init__(self):
        self.buffer = b""

    def push(self, data):
        self.buffer += data
        while len(self.buffer) >= 4:
            (size,) = struct.unpack(">I", self.buffer[:4])
            if size > MESSAGE_MAX:
                raise ValueError("a message is too large")
            if len(self.buffer) < 4 + size:
                return
            body, self.buffer = self.buffer[4 : 4 + size], self.buffer[4 + size :]
            yield json.loads(body)


class FileRun:
    """One test file, run to its end through as many children as it takes."""

    def __init__(self, runner, file):
        self.runner = runner
        self.file = file
        self.done = set()
        self.results = {}
        self.planned = None
        # Until a child says that it watches its file, nothing can be said of it.
        self.is_touched = True
        self.last_log = ""
        self.held_since = None
        self.started = 0

    def run(self):
        while self.run_child():
            pass
        for test_id, (status, seconds, detail) in self.results.items():
            self.runner.reporter.test(test_id, status, seconds, detail)

    def run_child(self):
        """Returns whether tests are left for another child."""
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            run_child_and_exit(self.runner, self.file, self.done, theirs)
        theirs.close()
        self.current = None
        self.is_finished = False
        self.limit = time.monotonic() + self.runner.test_seconds
        try:
            why = self.listen(ours)
        finally:
            # The group first: what a test started must not outlive its file.
            for kill in (os.killpg, os.kill):
                try:
                    kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
            _, status = os.waitpid(pid, 0)
            ours.close()
        if self.is_finished:
            return False
        if why == "ended":
            code = os.waitstatus_to_exitcode(status)
            self.blame(Broken, f"ended its process ({code})")
            return self.lose("error", f"the process of the test ended early ({code})")
        if why == "late":
            self.blame(Hanging, "did not end in time")
        return self.lose("timeout", "the test did not end in time")

    def blame(self, kind, what):
        """Where nothing of the agent's was touched, nothing of the agent's can be the reason."""
        if self.is_touched:
            return
        where = f"in {self.current.partition('::')[2]}" if self.current else "before it named a test"
        if self.current or self.planned is None:
            raise kind(f"tests/{self.file} {what} {where}, and the agent had no part in it; correct it. {self.last_log}".strip())

    def listen(self, ours):
        """Until the child ends, or a time limit. Nothing here is trusted to come in time."""
        from_child, runner = Messages(), self.runner
        while True:
            left = None if self.held_since else min(self.limit, runner.deadline) - time.monotonic()
            if left is not None and left <= 0:
                return "late" if self.limit < runner.deadline else "spent"
            ready, _, _ = select.select([ours, REPLIES], [], [], left)
            if REPLIES in ready:
                for reply in runner.replies():
                    self.hold(reply.get("kind"))
                    # A reply to a child that is gone has an older number and is dropped.
                    if reply.get("id") == runner.asked:
                        ours.sendall(packed(reply))
            if ours in ready:
                try:
                    data = ours.recv(65536)
                except ConnectionResetError:
                    data = b""
                if not data:
                    return "ended"
                for message in from_child.push(data):
                    self.take(message)
                # What a test left running may hold the socket open for ever.
                if self.is_finished:
                    return "ended"

    def hold(self, kind):
        """Stops the clocks while the platform makes the sandbox of the subject."""
        if kind == "hold":
            self.held_since = time.monotonic()
        elif kind == "go" and self.held_since:
            seconds = time.monotonic() - self.held_since
            self.held_since = None
            self.started += seconds
            self.limit += seconds
            self.runner.deadline += seconds

    def take(self, message):
        kind = message["kind"]
        if kind == "plan":
            self.planned = message["ids"]
        elif kind == "start":
            self.current = message["id"]
            self.started = time.monotonic()
            self.limit = self.started + self.runner.test_seconds
        elif kind == "test":
            seconds = message.get("seconds", time.monotonic() - self.started)
            self.record(message["id"], message["status"], seconds, message["detail"])
        elif kind == "watched":
            self.is_touched = False
        elif kind == "touched":
            self.is_touched = True
        elif kind == "log":
            self.last_log = message["text"]
            self.runner.reporter.log(f"{self.file}: {message['text']}")
        elif kind == "ask":
            self.is_touched = True
            self.runner.ask(message["request"])
        elif kind == "done":
            self.is_finished = True
        elif kind == "fault":
            raise Broken(message["text"])

    def record(self, test_id, status, seconds, detail):
        self.done.add(test_id)
        self.current = None
        self.limit = time.monotonic() + self.runner.test_seconds
        # A test that is told twice, as a check in a loop is, has passed only when it passed each time.
        before = self.results.get(test_id)
        if before is None or before[0] == "passed":
            self.results[test_id] = (status, seconds + (before[1] if before else 0), detail)

    def lose(self, status, detail):
        if self.current is not None:
            self.record(self.current, status, time.monotonic() - self.started, detail)
            if time.monotonic() < self.runner.deadline:
                return len(self.done) < len(self.planned or ())
            status, detail = "timeout", "not run: the time for grading was used up"
        else:
            detail = f"not run: {detail}"
        for test_id in self.planned or ():
            if test_id not in self.done:
                self.record(test_id, status, 0, detail)
        self.runner.reporter.log(f"{self.file}: {detail}")
        return False


class Runner:
    def __init__(self, config, child, reporter):
        self.config = config
        self.child = child
        self.reporter = reporter
        self.test_seconds = config["testMs"] / 1000
        self.deadline = time.monotonic() + config["budgetMs"] / 1000
        self.incoming = Messages()
        self.asked = 0

    def run(self):
        files = sorted(self.config["files"])
        random.Random(f"{self.config['gradingSeed']}:files").shuffle(files)
        tiers = self.config["tiers"]
        files.sort(key=lambda file: tiers.index(file.split("/")[0]) if file.split("/")[0] in tiers else len(tiers))
        self.reporter.send("begin", {"files": len(files)})
        for file in files:
            if time.monotonic() >= self.deadline:
                self.reporter.log(f"{file}: not run: the time for grading was used up")
            else:
                FileRun(self, file).run()
        self.reporter.send("end", {"tests": self.reporter.tests})

    def ask(self, request):
        self.asked += 1
        write_all(REQUESTS, packed({**request, "id": self.asked}))

    def replies(self):
        data = os.read(REPLIES, 1 << 20)
        if not data:
            raise EOFError("the platform closed the replies of the subject")
        return list(self.incoming.push(data))


def run_child_and_exit(runner, file, done, link):
    """The life of a child. Never returns."""
    code = 1
    try:
        os.setsid()
        for fd in (RESULT, REQUESTS, REPLIES):
            os.close(fd)
        die_first_without_memory()
        runner.child.run(runner.config, file, done, link)
        code = 0
    except BaseException as error:
        link.sendall(packed({"kind": "log", "text": f"{type(error).__name__}: {error}"[:DETAIL_MAX]}))
    finally:
        os._exit(code)


def die_first_without_memory():
    """When memory runs out, a test should end and not the runner that reports it."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def main():
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.umask(0o077)
    nonce = read_exactly(lambda count: os.read(NONCE, count), 32)
    os.close(NONCE)
    for fd in (RESULT, REQUESTS, REPLIES):
        os.set_inheritable(fd, False)
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, folder)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    child = importlib.import_module(config["child"])
    from child_link import Missing

    try:
        getattr(child, "prepare", lambda config: None)(config)
        Runner(config, child, Reporter(nonce)).run()
        # The report is out, and taking the interpreter down in order would only keep the verdict waiting.
        os._exit(0)
    except Missing as error:
        end(EXIT_MISSING, error)
    except Broken as error:
        end(error.code, error)


def end(code, error):
    print(str(error)[:DETAIL_MAX].replace("\n", " "), file=sys.stderr, flush=True)
    os._exit(code)


if __name__ == "__main__":
    main()
