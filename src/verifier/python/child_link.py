"""What the child of one test file shares with every other kind of child: its socket to the runner, and what it may say.

Messages to the runner: `plan` (ids), `start` (id), `test` (id, status, detail), `log` (text), `ask` (request), `touched`
(something of the agent's), `fault` (text: the hidden file itself is broken), `alive` (the clock of the test starts anew)
and `done`. The runner answers only `ask`.
"""
import json
import struct

TESTS = "/tests"


class Missing(Exception):
    """The image lacks what this kind of test needs; the text says what, and how to get it."""


class Link:
    """The private socket to the runner."""

    def __init__(self, socket):
        self.socket = socket

    def send(self, **message):
        body = json.dumps(message).encode("ascii")
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def receive(self):
        (size,) = struct.unpack(">I", self.read(4))
        return json.loads(self.read(size))

    def read(self, count):
        data = bytearray()
        while len(data) < count:
            chunk = self.socket.recv(count - len(data))
            if not chunk:
                raise EOFError("the runner is gone")
            data += chunk
        return bytes(data)

    def exchange(self, request):
        self.send(kind="ask", request=request)
        return self.receive()

