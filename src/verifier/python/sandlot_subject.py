"""What hidden test files use to reach the graded program, which runs in another sandbox.

    import sandlot_subject as s
    s.subject.call("shop/cart.py:total", [[1, 2]])     -> plain data, or SubjectError, SubjectTimeout, SubjectEnded
    s.subject.run(["/bin/sh", "run.sh"], stdin=b"")    -> exit_code, stdout, stderr, timed_out
    s.artifacts / "app" / "out.txt"                    -> what the agent left, as files to read
    s.random("names")                                  -> random numbers that follow from the grading seed

A returned value is rebuilt from text here, so it is a real list, int or str and never an object of the program. A number
that is not finite is refused unless the test asks for it, because NaN and infinity pass comparisons they should not.
"""
import base64
import json
import math
import pathlib
import random as _random

grading_seed = 0

_PLAIN = (type(None), bool, int, float, str, bytes)
_GROUPS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_exchange = None
_touch = None


def begin(seed, exchange, touch):
    """Called once, before the test file is loaded; `touch` is called at the first use of something of the agent's."""
    global grading_seed, _exchange, _touch
    grading_seed, _exchange, _touch = seed, exchange, touch


def __getattr__(name):
    if name != "artifacts":
        raise AttributeError(f"sandlot_subject has no {name}")
    if _touch is not None:
        _touch()
    return pathlib.Path("/artifacts")


class SubjectError(Exception):
    """The program raised. `type_name` is the name of the exception's type, as the program states it."""

    def __init__(self, type_name, detail):
        super().__init__(detail or type_name)
        self.type_name = type_name


class SubjectTimeout(Exception):
    """The program did not answer in time."""


class SubjectEnded(Exception):
    """The program ended its own process instead of answering."""


class Ran:
    """How a command ended; `exit_code` is None when it was killed."""

    def __init__(self, reply):
        self.exit_code = reply["exitCode"]
        self.stdout = base64.b64decode(reply["stdout"])
        self.stderr = base64.b64decode(reply["stderr"])
        self.timed_out = reply["timedOut"]

    def __repr__(self):
        return f"Ran(exit_code={self.exit_code}, timed_out={self.timed_out}, stdout={self.stdout!r}, stderr={self.stderr!r})"


class Subject:
    """The graded program: the clean task image with the agent's artifacts, one sandbox for a whole grading."""

    def call(self, target, args, kwargs=None, timeout_ms=10_000, non_finite=False):
        """Calls `path/to/module.py:function` in a new process; paths are relative to the task's work folder."""
        path, _, function = target.rpartition(":")
        reply = _ask(
            kind="call",
            path=path,
            function=function,
            args=_literal(list(args)),
            kwargs=_literal(dict(kwargs or {})),
            timeoutMs=timeout_ms,
        )
        if reply["kind"] == "raised":
            raise SubjectError(reply["type"], reply["detail"])
        return _value(reply["text"], non_finite)

    def run(self, argv, stdin=b"", timeout_ms=10_000):
        """Runs a command in the work folder. Background children stay until the grading ends."""
        if isinstance(argv, (str, bytes)):
            raise TypeError("argv is a list of words")
        words = [str(word) for word in argv]
        return Ran(_ask(kind="run", argv=words, stdin=base64.b64encode(stdin).decode("ascii"), timeoutMs=timeout_ms))


subject = Subject()


def random(label):
    """Random numbers of their own stream: equal grading seed and label, equal numbers."""
    return _random.Random(f"{grading_seed}:{label}")


def _ask(**request):
    reply = _exchange(request)
    if reply["kind"] == "timeout":
        raise SubjectTimeout(reply["detail"])
    if reply["kind"] == "ended":
        raise SubjectEnded(reply["detail"])
    return reply


def _literal(value):
    _check_plain(value)
    return ascii(value)


def _check_plain(value):
    if type(value) in _PLAIN:
        return
    if type(value) is dict:
        for key, member in value.items():
            _check_plain(key)
            _check_plain(member)
    elif type(value) in (list, tuple, set, frozenset):
        for item in value:
            _check_plain(item)
    else:
        raise TypeError(f"only plain data can be given to the subject, not {type(value).__name__}")


def _value(text, non_finite):
    try:
        return _decode(json.loads(text), non_finite)
    except SubjectError:
        raise
    except Exception as error:
        raise SubjectError("NotPlainData", "the program answered with something malformed") from error


def _decode(node, non_finite):
    if type(node) in (type(None), bool, str):
        return node
    tag, *rest = node
    if tag in _GROUPS:
        return _GROUPS[tag]([_decode(item, non_finite) for item in rest])
    if tag == "dict":
        return {_decode(key, non_finite): _decode(member, non_finite) for key, member in rest}
    (body,) = rest
    if tag == "int":
        return int(body, 16) if "x" in body else int(body)
    if tag == "float":
        number = float.fromhex(body)
        if non_finite or math.isfinite(number):
            return number
        raise SubjectError("NotFinite", f"the program returned {number}; a test that expects it passes non_finite=True")
    if tag == "text":
        return bytes.fromhex(body).decode("utf-16-le", "surrogatepass")
    if tag == "bytes":
        return bytes.fromhex(body)
    raise SubjectError("NotPlainData", f"the program returned {body!r}, which is not plain data")
