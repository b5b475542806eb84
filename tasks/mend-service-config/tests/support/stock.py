"""Starts the trusted copy of the service with the agent's configuration and fresh stock, and asks it over HTTP."""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sandlot_subject import artifacts, grading_seed

CONFIG = artifacts / "app" / "config.json"
SERVICE = Path(__file__).resolve().parent / "service.py"
PORT = 8085
START_SECONDS = 10
CONFIG_BYTES_MAX = 65_536


def drawn_stock(count=47):
    draw = random.Random(f"{grading_seed}:stock")
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = set()
    while len(names) < count:
        names.add("".join(draw.choice(letters) for _ in range(8)))
    identifiers = draw.sample(range(1, 10_000), count)
    pairs = zip(draw.sample(sorted(names), count), identifiers)
    return [{"id": number, "name": name, "quantity": draw.randint(0, 500)} for name, number in pairs]


class Service:
    """The running service, as a context; starting fails as a failed test, with what the service said."""

    def __init__(self):
        self.items = drawn_stock()
        self.folder = tempfile.TemporaryDirectory()
        self.process = None
        if not CONFIG.is_file() or CONFIG.stat().st_size > CONFIG_BYTES_MAX:
            raise AssertionError("/app/config.json is missing or too large")
        data = Path(self.folder.name) / "data"
        data.mkdir()
        (data / "stock.json").write_text(json.dumps(self.items))

    def __enter__(self):
        argv = [sys.executable, "-I", "-S", str(SERVICE), "--config", str(CONFIG), "--root", self.folder.name]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, close_fds=True)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                self.fail("the service ended")
            try:
                if self.get("/health", host="localhost")[0] in (200, 403):
                    return self
            except OSError:
                if b"listening on" in self.said() and f":{PORT}".encode() not in self.said():
                    self.fail("the service listens elsewhere")
                time.sleep(0.02)
        return self.fail(f"nothing answered on 127.0.0.1:{PORT}")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def fail(self, reason):
        said = self.said().decode("utf-8", "replace").strip()
        self.__exit__()
        raise AssertionError(f"{reason}: {said}")

    def said(self):
        return os.pread(self.log.fileno(), 2_000, 0)

    def get(self, path, host="localhost", method="GET", body=None):
        """Status and parsed JSON of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
        try:
            connection.putrequest(method, path, skip_host=True)
            connection.putheader("Host", host)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read(1 << 20))
        finally:
            connection.close()
