"""One pytest file in a process of its own: collects it, runs its tests in the order of the grading seed, tells the parent.

Nothing but the hidden files decides how pytest runs: no plugin is loaded by itself, no conftest.py, no settings of a
project, no cache. Test files are trusted; the graded program is reached through `sandlot_subject` only, which tests may
also take as the fixtures `subject` and `artifacts`. A skipped test and an expected failure are not passes.
"""
import os
import random
import sys
import sysconfig

import sandlot_subject
from child_guard import Guard
from child_link import TESTS, Link, Missing

# Where an image keeps its packages; without the site module, nothing of them runs by itself.
PACKAGES = (sysconfig.get_paths()["purelib"], "/usr/lib/python3/dist-packages")
OPTIONS = (
    ["-c", "/dev/null", "-o", "xfail_strict=true", "--import-mode=importlib"]
    + ["--strict-markers", "--strict-config", "--capture=no", "--quiet", "--disable-warnings", "--no-summary"]
    + [word for name in ("cacheprovider", "faulthandler", "junitxml", "pastebin", "doctest") for word in ("-p", f"no:{name}")]
)


def prepare(config):
    sys.path.extend(folder for folder in dict.fromkeys(PACKAGES) if os.path.isdir(folder))
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        import pytest
    except ImportError as error:
        raise Missing(
            f"the image has no pytest for {sys.executable} ({error}); add the Debian package python3-pytest to the image "
            "of the task, or write the tests for the runner unittest"
        ) from error
    pytest.fixture  # An empty folder of that name would import, too.


class Reporter:
    """The one plugin: orders the tests, and tells the parent of each; only a test without any complaint has passed."""

    def __init__(self, link, config, file, done, guard):
        self.link, self.config, self.file, self.done, self.guard = link, config, file, done, guard
        self.left = None
        self.is_uncollected = False

    def pytest_collection_modifyitems(self, config, items):
        if self.is_uncollected:
            return
        random.Random(f"{self.config['gradingSeed']}:{self.file}").shuffle(items)
        self.link.send(kind="plan", ids=[item.nodeid for item in items])
        items[:] = [item for item in items if item.nodeid not in self.done]
        self.left = {item.nodeid for item in items}

    def pytest_collectreport(self, report):
        if report.failed:
            detail = report.longreprtext[-1500:]
            self.is_uncollected = True
            self.link.send(kind="log", text=f"it could not be collected: {detail}")

    def pytest_runtest_logstart(self, nodeid, location):
        self.status, self.detail = None, ""
        self.link.send(kind="start", id=nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        self.left.discard(nodeid)
        self.link.send(kind="test", id=nodeid, status=self.status or "failed", detail=self.detail)

    def note(self, status, detail):
        if self.status in (None, "passed", "skipped"):
            self.status, self.detail = status, detail[-1500:]


def reporter(pytest, *parts):
    class Plugin(Reporter):
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = (yield).get_result()
            if hasattr(report, "wasxfail"):
                self.note("failed", f"an expected failure is not a pass: {report.wasxfail}")
            elif report.skipped:
                self.note("skipped", str(call.excinfo.value if call.excinfo else ""))
            elif report.failed:
                if self.guard is not None and call.excinfo:
                    self.guard.blame(item.nodeid, call.excinfo.value)
                self.note(failure(pytest, call), report.longreprtext)
            elif report.when == "call":
                self.note("passed", "")

        @pytest.fixture
        def subject(self):
            return sandlot_subject.subject

        @pytest.fixture
        def artifacts(self):
            return sandlot_subject.artifacts

    return Plugin(*parts)


def failure(pytest, call):
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, sandlot_subject.SubjectTimeout):
        return "timeout"
    # An expected failure that passed, by the strict setting, leaves no exception.
    return "failed" if error is None or isinstance(error, (AssertionError, pytest.fail.Exception)) else "error"


def run(config, file, done, socket):
    link = Link(socket)
    with open(f"{TESTS}/{file}", encoding="utf-8", errors="replace") as source:
        guard = Guard(link, config, file, source.read())
    sandlot_subject.begin(int(config["gradingSeed"]), link.exchange, guard.touch)
    run_file(link, config, file, done, TESTS, guard, "--noconftest")


def run_file(link, config, file, done, folder, guard=None, *options):
    import pytest

    sys.path.append(folder)
    plugin = reporter(pytest, link, config, file, done, guard)
    pytest.main([*OPTIONS, *options, "--rootdir", folder, f"{folder}/{file}"], plugins=[plugin])
    # A session that was ended in the middle is no end of the file; the runner blames the test that ended it.
    if plugin.left is not None and not plugin.left:
        link.send(kind="done")
