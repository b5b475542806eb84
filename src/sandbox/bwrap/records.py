"""The stream of a tree as bytes (see `src/sandbox/sandbox-files-records.ts`). Pure; nothing here trusts the sender."""
import _struct
from answers import INVALID_PATH, PATH_BYTES_MAX, Answer

HEAD = _struct.Struct("<cBHI")


def record_head(kind, path, mode):
    return HEAD.pack(kind, 0, len(path), mode) + path


def is_path_below(path):
    parts = path.split(b"/")
    return len(path) < PATH_BYTES_MAX and b"\0" not in path and all(
        0 < len(part) <= 255 and part not in (b".", b"..") for part in parts)


class RecordDecoder:
    """Decodes a stream in pieces of any size; what a record does is the sink's."""

    def __init__(self, sink):
        self.sink, self.held, self.is_in_file, self.chunk_left, self.is_ended = sink, bytearray(), False, 0, False

    def take(self, data):
        self.held += data
        while self.held and self._step():
            pass

    def _cut(self, count):
        taken = bytes(self.held[:count])
        del self.held[:count]
        return taken

    def _step(self):
        """True when something was taken."""
        if self.is_ended:
            raise Answer(INVALID_PATH)
        if self.chunk_left > 0:
            part = self._cut(self.chunk_left)
            self.chunk_left -= len(part)
            self.sink.on_content(part)
            return True
        if self.is_in_file:
            if len(self.held) < 4:
                return False
            self.chunk_left = int.from_bytes(self._cut(4), "little")
            if self.chunk_left == 0:
                self.is_in_file = False
                self.sink.on_file_end()
            return True
        return self._entry()

    def _entry(self):
        if len(self.held) < HEAD.size:
            return False
        kind, _, length, mode = HEAD.unpack_from(self.held)
        if kind == b"e" and length == 0:
            self._cut(HEAD.size)
            self.is_ended = True
            return True
        if kind not in (b"f", b"d") or not 0 < length < PATH_BYTES_MAX:
            raise Answer(INVALID_PATH)
        if len(self.held) < HEAD.size + length:
            return False
        self._cut(HEAD.size)
        path = self._cut(length)
        if not is_path_below(path):
            raise Answer(INVALID_PATH)
        self.is_in_file = kind == b"f"
        (self.sink.on_file if self.is_in_file else self.sink.on_folder)(path, mode & 0o777)
        return True
