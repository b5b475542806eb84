"""Runs the graded program in its own sandbox: takes one call at a time, answers with plain data.

Descriptor 4 brings lines: first what to load, then one (nonce, args, kwargs) a line, each a Python literal written by
the platform. Descriptor 3 takes lines: hello, loaded or refused, then one answer a line with the nonce of its call.
Everything in this process belongs to the graded program, so a forged line is only another answer: expected values are
never here. Imports are kept to built-in modules, because start-up is most of the cost of a grading.
"""
import posix
import sys
import _signal

DEPTH_MAX = 50
NODES_MAX = 100_000
BYTES_MAX = 1 << 20
# Longest expression that is compiled anew for each call.
EAGER_MAX = 500
HERE = {"__builtins__": {}, "inf": float("inf"), "nan": float("nan"), "set": set, "frozenset": frozenset}


class TooMuch(Exception):
    """The value is nested too deeply, or too large, to be an answer."""


def text(value):
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return '"' + value + '"'
    return '["text","' + value.encode("utf-16", "surrogatepass")[2:].hex() + '"]'


def integer(value):
    return str(value) if -(2**63) <= value < 2**63 else hex(value)


def encode(value, depth, budget):
    """The canonical text of plain data. A subclass of a built-in type is not plain, whatever it claims."""
    budget[0] -= 1
    if depth > DEPTH_MAX or budget[0] < 0:
        raise TooMuch()
    kind = type(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return '["int","' + integer(value) + '"]'
    if kind is float:
        return '["float","' + (value + 0.0).hex() + '"]'
    if kind is str:
        budget[0] -= len(value) >> 6
        return text(value)
    if kind is bytes:
        return '["bytes","' + value.hex() + '"]'
    if kind is list or kind is tuple:
        return ",".join(['["' + kind.__name__ + '"', *[encode(item, depth + 1, budget) for item in value]]) + "]"
    if kind is set or kind is frozenset:
        items = sorted(set([encode(item, depth + 1, budget) for item in value]))
        return ",".join(['["' + kind.__name__ + '"', *items]) + "]"
    if kind is dict:
        pairs = sorted(
            ["[" + encode(k, depth + 1, budget) + "," + encode(v, depth + 1, budget) + "]" for k, v in value.items()]
        )
        return ",".join(['["dict"', *pairs]) + "]"
    return '["object",' + text(str(kind.__name__)[:80]) + "]"


def lines(read):
    rest = b""
    while True:
        end = rest.find(b"\n")
        if end >= 0:
            yield rest[:end]
            rest = rest[end + 1 :]
            continue
        chunk = read(4, 65536)
        if not chunk:
            return
        rest = rest + chunk if rest else chunk


def send(write, line):
    data = line.encode("ascii") + b"\n"
    while data:
        data = data[write(3, data) :]


def is_file(path):
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def load_file(path):
    """The names of the module at a path; a file in a package is imported by its dotted name from the package's root."""
    folder, _, name = path.rpartition("/")
    name = name.removesuffix(".py")
    dotted = name
    while is_file(folder + "/__init__.py"):
        folder, _, package = folder.rpartition("/")
        dotted = package + "." + dotted
    sys.path[:0] = [folder or "/", posix.getcwd()]
    if dotted != name:
        __import__(dotted)
        return sys.modules[dotted].__dict__
    with open(path, "rb") as file:
        source = file.read()
    module = type(sys)(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module.__dict__


def load(form, entry, parameters, source):
    """A function of (args, kwargs)."""
    if form == "expression":
        source = source.strip()
        # The first call of compile() makes hundreds of types; a short text is read again sooner than that.
        code = source if len(source) <= EAGER_MAX else compile(source, "<answer>", "eval")
        return lambda args, kwargs: eval(code, {"__name__": "answer", **dict(zip(parameters, args))})
    if form == "function":
        names = {"__name__": "answer"}
        exec(source, names)
    else:
        names = load_file(source)
    function = names.get(entry)
    if function is None:
        raise NameError("it defines no " + entry)
    return lambda args, kwargs: function(*args, **kwargs)


def said(error):
    return text((type(error).__name__ + ": " + str(error))[:400])


def main(read=posix.read, write=posix.write, timer=_signal.setitimer, cpu=_signal.ITIMER_PROF):
    waiting = lines(read)
    send(write, "hello")
    form, entry, parameters, source, load_seconds, call_seconds = eval(next(waiting), HERE)
    try:
        timer(cpu, load_seconds)
        call = load(form, entry, parameters, source)
        timer(cpu, 0)
    except BaseException as error:
        send(write, "refused " + said(error))
        return
    send(write, "loaded")
    for line in waiting:
        nonce, args, kwargs = eval(line, HERE)
        try:
            # Processor time, so that a busy machine does not fail a correct answer; the platform also bounds wall time.
            timer(cpu, call_seconds)
            value = call(args, kwargs)
            answer = encode(value, 0, [NODES_MAX])
            timer(cpu, 0)
            answer = " value " + (answer if len(answer) <= BYTES_MAX else '["object","too large"]')
        except TooMuch:
            answer = ' value ["object","too large"]'
        except BaseException as error:
            timer(cpu, 0)
            answer = " error " + said(error)
        send(write, nonce + answer)


main()
