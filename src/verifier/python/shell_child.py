"""One shell file, `test_NAME.sh`, in a process of its own: bash runs the script, this process runs what it checks.

    check NAME [--subject] [--exit CODE] [--seconds SECONDS] [--stdin FILE] [--] PROGRAM ARGUMENT...
    subject PROGRAM ARGUMENT...      runs in the subject sandbox; the script reads its output and its exit code
    $grading_seed                    numbers that follow from it are new for each grading

The script hands over names and words only, decides nothing and holds nothing of the report: a check passes when its
program, run by this process, ends with the code asked for. A program runs as `verifier`, beside the artifacts as data;
with `--subject`, as `subject` in the sandbox of the product. A script that ends early leaves its other checks out.
"""
import base64
import os
import re
import select
import signal
import subprocess
import tempfile

from child_guard import ARTIFACTS, Guard
from child_link import TESTS, Link, Missing

BASH = ["/bin/bash", "--noprofile", "--norc", "-p"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "/nonexistent"}
PRELUDE = r"""
readonly grading_seed=$1 __ask=$2 __told=$3
set --
__asked() { printf '%d\0' "$#" >&"$__ask"; printf '%s\0' "$@" >&"$__ask"; }
check() { local code=1; __asked check "$@"; read -r -u "$__told" code; return "$code"; }
subject() {
  local code=255 out err
  __asked subject "$@"
  read -r -u "$__told" code out err
  /bin/cat -- "$out"; /bin/cat -- "$err" >&2; /bin/rm -f -- "$out" "$err"
  return "$code"
}
readonly -f __asked check subject
source "$0"
"""
NAME = re.compile(r"[A-Za-z0-9_.-]+")
WORDS_MAX, BYTES_MAX = 4096, 8 << 20
DETAIL_MAX = 1900
STDIN_MAX = 8 << 20
TIMED_OUT, ENDED = 124, 255


def prepare(config):
    if not os.access(BASH[0], os.X_OK):
        raise Missing(f"the image of the task has no {BASH[0]}, which its shell tests need; add it to the image")


def run(config, file, done, socket):
    link = Link(socket)
    link.send(kind="plan", ids=[test for test in config["manifest"] if test.startswith(f"{file}::")])
    checked = subprocess.run([*BASH, "-n", f"{TESTS}/{file}"], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True)
    if checked.returncode != 0:
        said = checked.stderr.decode("utf-8", "replace").strip().replace("\n", "; ")[-400:]
        link.send(kind="fault", text=f"tests/{file} is no script that bash can read ({said}); correct it")
        os._exit(1)
    with open(f"{TESTS}/{file}", encoding="utf-8", errors="replace") as source:
        guard = Guard(link, config, file, source.read())
    Script(link, config, file, done, guard).run()
    link.send(kind="done")


class Refused(Exception):
    """What the script asks for is no check; it counts as one that has not passed."""


class Script:
    def __init__(self, link, config, file, done, guard):
        self.link, self.file, self.done, self.guard = link, file, done, guard
        self.seed = config["gradingSeed"]
        # Below the limit of the runner, which would have to give up the rest of the file.
        self.seconds_max = 0.8 * config["testMs"] / 1000
        self.rest = b""

    def run(self):
        asked, ask = os.pipe()
        told, self.tell = os.pipe()
        words = [*BASH, "-c", PRELUDE, f"{TESTS}/{self.file}", self.seed, str(ask), str(told)]
        with tempfile.TemporaryFile() as errors:
            bash = subprocess.Popen(words, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stderr=errors, pass_fds=(ask, told))
            os.close(ask)
            os.close(told)
            self.serve(asked, os.pidfd_open(bash.pid))
            code = bash.wait()
            if code != 0:
                said = tail(errors, 500)
                self.link.send(kind="log", text=f"the script ended with {ending(code)}: {said}"[:DETAIL_MAX])

    def serve(self, asked, bash):
        """Until the script has ended and all it asked for before is answered; what it left running is not waited for."""
        while True:
            ready, _, _ = select.select([asked, bash], [], [])
            if asked in ready:
                data = os.read(asked, 65536)
                if not data:
                    select.select([bash], [], [])
                    return
                for words in self.requests(data):
                    self.answer(words)
            elif bash in ready:
                return

    def requests(self, data):
        self.rest += data
        while True:
            count, mark, body = self.rest.partition(b"\0")
            if not mark:
                return
            size = int(count) if count.isdigit() else WORDS_MAX + 1
            if size > WORDS_MAX or len(self.rest) > BYTES_MAX:
                raise ValueError("a check is no list of words, or of too many; checks may not run beside each other")
            words = body.split(b"\0", size)
            if len(words) <= size:
                return
            self.rest = words.pop()
            yield [os.fsdecode(word) for word in words]

    def answer(self, words):
        kind, *rest = words
        reply = self.subject(rest) if kind == "subject" else str(self.check(rest))
        try:
            os.write(self.tell, f"{reply}\n".encode())
        except BrokenPipeError:
            pass

    def check(self, words):
        name = words[0] if words else ""
        if not NAME.fullmatch(name):
            self.link.send(kind="log", text=f"check {name[:80]!r} has no name of letters, digits, _, . and -")
            return 1
        test = f"{self.file}::{name}"
        if test in self.done:
            return 0
        for word in words[1:]:
            if word.startswith(ARTIFACTS):
                self.guard.refuse_uncollected(word)
        self.link.send(kind="start", id=test)
        try:
            status, detail = self.decide(Options(words[1:], self.seconds_max))
        except Refused as refused:
            status, detail = "error", f"check {name} {refused}"
        self.link.send(kind="test", id=test, status=status, detail=detail[:DETAIL_MAX])
        return 0 if status == "passed" else 1

    def decide(self, options):
        code, out, err = self.in_subject(options) if options.subject else execute(options)
        if code == options.exit:
            return "passed", ""
        detail = f"{ending(code)}, expected {options.exit}\n{err}\n{out}".strip()
        return ("timeout" if code == TIMED_OUT and options.is_late else "failed"), detail

    def in_subject(self, options):
        """Runs the words in the sandbox of the product. Its output is data of the agent."""
        reply = self.exchange(options)
        if reply["kind"] == "ran":
            options.is_late = reply["timedOut"]
            code = TIMED_OUT if options.is_late else ENDED if reply["exitCode"] is None else reply["exitCode"]
            return code, shown(base64.b64decode(reply["stdout"])), shown(base64.b64decode(reply["stderr"]))
        return ENDED, "", reply.get("detail", "")

    def exchange(self, options):
        stdin = base64.b64encode(options.input()).decode("ascii")
        milliseconds = max(1, int(options.seconds * 1000))
        # What the product printed may stand among the words, and messages are text.
        argv = [os.fsencode(word).decode("utf-8", "replace") for word in options.words]
        return self.link.exchange({"kind": "run", "argv": argv, "stdin": stdin, "timeoutMs": milliseconds})

    def subject(self, words):
        self.link.send(kind="alive")
        try:
            reply = self.exchange(Options(["--subject", "--", *words], self.seconds_max))
        except Refused as refused:
            reply = {"kind": "ended", "detail": f"subject {refused}\n"}
        self.link.send(kind="alive")
        if reply["kind"] != "ran":
            return f"{ENDED} {kept(b'')} {kept(reply.get('detail', '').encode())}"
        code = TIMED_OUT if reply["timedOut"] else ENDED if reply["exitCode"] is None else reply["exitCode"]
        return f"{code} {kept(base64.b64decode(reply['stdout']))} {kept(base64.b64decode(reply['stderr']))}"


class Options:
    """What stands between the name of a check and its program."""

    def __init__(self, words, seconds_max):
        self.subject, self.exit, self.seconds, self.stdin, self.is_late = False, 0, seconds_max, None, False
        words = list(words)
        while words and words[0].startswith("-"):
            option = words.pop(0)
            if option == "--":
                break
            if option == "--subject":
                self.subject = True
            elif option in ("--exit", "--seconds", "--stdin") and words:
                self.take(option, words.pop(0), seconds_max)
            else:
                raise Refused(f"has the unknown or empty option {option[:80]}; see --subject, --exit, --seconds, --stdin")
        if not words or words[0] == "":
            raise Refused("names no program; write its words after the name of the check")
        if not self.subject and not words[0].startswith("/"):
            raise Refused(f"runs {words[0][:80]!r}, which is no absolute path; write one such as /usr/bin/test")
        self.words = words

    def take(self, option, value, seconds_max):
        if option == "--stdin":
            self.stdin = value
            return
        if not re.fullmatch(r"[0-9]{1,5}", value):
            raise Refused(f"gives {option} {value[:80]!r}, which is no whole number")
        if option == "--exit":
            self.exit = int(value)
        else:
            self.seconds = min(seconds_max, int(value))

    def input(self):
        if self.stdin is None:
            return b""
        try:
            with open(self.stdin, "rb") as file:
                data = file.read(STDIN_MAX + 1)
        except OSError as error:
            raise Refused(f"cannot read its --stdin: {error}") from error
        if len(data) > STDIN_MAX:
            raise Refused(f"has a --stdin of more than {STDIN_MAX} bytes")
        return data


def execute(options):
    """Runs a trusted program, which sees artifacts as data. What it leaves running ends with it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(options.input())
        given.seek(0)
        try:
            program = subprocess.Popen(
                options.words, env=ENVIRONMENT, stdin=given, stdout=out, stderr=err, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise Refused(f"cannot start its program: {error}") from error
        try:
            code = program.wait(options.seconds)
        except subprocess.TimeoutExpired:
            options.is_late, code = True, TIMED_OUT
        finally:
            try:
                os.killpg(program.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            program.wait()
        return code, tail(out, 600), tail(err, 1200)


def tail(file, count):
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - count))
    return file.read(count).decode("utf-8", "replace").strip()


def shown(data):
    """The beginning: the first complaint of a compiler explains the others."""
    return data[:1200].decode("utf-8", "replace").strip()


def kept(data):
    handle, path = tempfile.mkstemp(prefix="subject-")
    with open(handle, "wb") as file:
        file.write(data)
    return path


def ending(code):
    return f"signal {-code}" if code < 0 else f"exit code {code}"
