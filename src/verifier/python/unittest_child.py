"""One test file in a process of its own: loads it, runs its tests in the order of the grading seed, tells the parent.

Test files are trusted; the graded program is reached through `sandlot_subject` only. A skipped test and an expected
failure are not passes.
"""
import importlib.util
import random
import sys
import traceback
import unittest

import sandlot_subject
from child_guard import Guard
from child_link import TESTS, Link


class Result(unittest.TestResult):
    """Tells the parent of each test; only a test without any complaint has passed."""

    def __init__(self, link, ids, guard):
        super().__init__()
        self.link = link
        self.ids = ids
        self.guard = guard
        self.status = None

    def startTest(self, test):
        super().startTest(test)
        self.status, self.detail = None, ""
        self.link.send(kind="start", id=self.ids[test])

    def stopTest(self, test):
        super().stopTest(test)
        self.link.send(kind="test", id=self.ids[test], status=self.status or "failed", detail=self.detail)
        self.status = None

    def note(self, test, status, detail):
        if test not in self.ids:
            self.link.send(kind="log", text=f"{test}: {status}: {detail[-1500:]}")
        elif self.status in (None, "passed", "skipped"):
            self.status, self.detail = status, detail[-1500:]

    def addSuccess(self, test):
        self.note(test, self.status or "passed", "")

    def addError(self, test, err):
        if self.guard is not None:
            self.guard.blame(self.ids.get(test, str(test)), err[1])
        status = "timeout" if issubclass(err[0], sandlot_subject.SubjectTimeout) else "error"
        self.note(test, status, described(err))

    def addFailure(self, test, err):
        self.note(test, "failed", described(err))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, "failed" if issubclass(err[0], test.failureException) else "error", described(err))

    def addSkip(self, test, reason):
        self.note(getattr(test, "test_case", test), "skipped", str(reason))

    def addExpectedFailure(self, test, err):
        self.note(test, "failed", "an expected failure is not a pass")

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "an expected failure passed")


def described(err):
    try:
        return "".join(traceback.format_exception_only(err[0], err[1]))
    except Exception:
        return err[0].__name__


def load(file, folder):
    """The test file as a module of a neutral name; helpers beside it may be imported, after the standard library."""
    sys.path.append(folder)
    spec = importlib.util.spec_from_file_location("hidden_tests", f"{folder}/{file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run(config, file, done, socket):
    link = Link(socket)
    with open(f"{TESTS}/{file}", encoding="utf-8", errors="replace") as source:
        guard = Guard(link, config, file, source.read())
    sandlot_subject.begin(int(config["gradingSeed"]), link.exchange, guard.touch)
    run_file(link, config, file, done, TESTS, guard)


def run_file(link, config, file, done, folder, guard=None):
    module = load(file, folder)
    order = random.Random(f"{config['gradingSeed']}:{file}")
    kinds = (item for item in vars(module).values() if isinstance(item, type) and issubclass(item, unittest.TestCase))
    classes = list(dict.fromkeys(kind for kind in kinds if kind.__module__ == module.__name__))
    order.shuffle(classes)
    ids, suite = {}, unittest.TestSuite()
    for kind in classes:
        names = list(unittest.TestLoader().getTestCaseNames(kind))
        order.shuffle(names)
        for name in names:
            test = kind(name)
            ids[test] = f"{file}::{kind.__qualname__}.{name}"
            suite.addTest(test)
    link.send(kind="plan", ids=list(ids.values()))
    left = unittest.TestSuite(test for test in suite if ids[test] not in done)
    left.run(Result(link, ids, guard))
    link.send(kind="done")
