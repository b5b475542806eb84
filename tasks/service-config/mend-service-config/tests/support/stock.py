"""Starts the trusted copy of the service with the agent's configuration and fresh stock, and asks it over HTTP."""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
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


class ServiceTestCase(unittest.TestCase):
    """The service runs for all tests of a class; that it does not start is a failure of each of them."""

    service = None
    broken = None

    def setUp(self):
        kind = type(self)
        if kind.broken is None and kind.service is None:
            try:
                kind.service = Service()
            except AssertionError as error:
                kind.broken = str(error)
        if kind.broken is not None:
            self.fail(kind.broken)

    @classmethod
    def tearDownClass(cls):
        if cls.service is not None:
            cls.service.stop()


class Service:
    """The running service. An AssertionError says what it said when it does not start."""

    def __init__(self):
        if not CONFIG.is_file() or CONFIG.stat().st_size > CONFIG_BYTES_MAX:
            raise AssertionError("/app/config.json is missing or too large")
        self.items = drawn_stock()
        self.folder = tempfile.TemporaryDirectory()
        data = Path(self.folder.name) / "data"
        data.mkdir()
        (data / "stock.json").write_text(json.dumps(self.items))
        argv = [sys.executable, "-I", "-S", str(SERVICE), "--config", str(CONFIG), "--root", self.folder.name]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, close_fds=True)
        self.wait_for_answer()

    def wait_for_answer(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                self.give_up("the service ended")
            try:
                self.get("/health")
                return
            except OSError:
                if b"listening on" in self.said() and f":{PORT}".encode() not in self.said():
                    self.give_up("the service listens elsewhere")
                time.sleep(0.02)
        self.give_up(f"nothing answered on 127.0.0.1:{PORT}")

    def give_up(self, reason):
        said = self.said().decode("utf-8", "replace").strip()
        self.stop()
        raise AssertionError(f"{reason}: {said}")

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()

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
