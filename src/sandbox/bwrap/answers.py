"""How a file operation answers: by its exit code, with what it gives out on standard output, buffered."""
import posix

from system import write_all

(DONE, MISSING, DENIED, TOO_LARGE, NOT_REGULAR, IS_FOLDER, NOT_FOLDER, REFUSED_LINK, NO_SPACE, INVALID_PATH,
 UNSUPPORTED) = range(11)

PATH_BYTES_MAX = 4096
TREE_PATH_MAX = 8192  # of a path below a folder; a deeper tree is too large
DEPTH_MAX = 1000
TEMPORARY = b".sandlot-"  # begins every name that stands only while an operation runs
OUT_BYTES = 65536

_WHY = {2: MISSING, 20: NOT_FOLDER, 21: IS_FOLDER, 40: REFUSED_LINK, 36: INVALID_PATH, 22: INVALID_PATH, 28: NO_SPACE,
        122: NO_SPACE, 6: NOT_REGULAR, 39: IS_FOLDER, 24: TOO_LARGE, 27: TOO_LARGE}

_buffer = bytearray()


class Answer(Exception):
    def __init__(self, code):
        self.code = code


def why(error):
    return _WHY.get(error, DENIED)


def out(data):
    _buffer.extend(data)
    if len(_buffer) >= OUT_BYTES:
        flush()


def flush():
    try:
        write_all(1, _buffer)
    except OSError:
        posix._exit(DENIED)
    _buffer.clear()


def finish(code):
    if code == DONE:
        flush()
    posix._exit(code)
