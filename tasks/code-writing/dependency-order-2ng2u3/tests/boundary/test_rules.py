"""Every rule alone, and all together on fresh arguments."""

import copy
import unittest

from sandlot_subject import random, subject
from support import reference


class TestRules(unittest.TestCase):
    def assert_right(self, arguments):
        expected = reference.ordered(*copy.deepcopy(arguments))
        self.assertEqual(subject.call("/app/solution.py:ordered", arguments), expected, arguments)

    def test_largest(self):
        for arguments in [[{"b": [], "a": [], "c": []}], [{"x": ["y"], "y": [], "z": []}]]:
            self.assert_right(arguments)

    def test_unlisted(self):
        for arguments in [[{"a": ["outside"]}], [{"b": ["a"], "a": ["z0"]}]]:
            self.assert_right(arguments)

    def test_partial(self):
        for arguments in [[{"a": [], "b": ["c"], "c": ["b"]}], [{"k": [], "l": ["k"], "m": ["n"], "n": ["m"]}]]:
            self.assert_right(arguments)

    def test_at_the_edge(self):
        for arguments in [[{"b": ["a", "a"], "a": []}], [{"c": ["b", "b"], "b": ["a"], "a": []}], [{"a": ["a"]}]]:
            self.assert_right(arguments)

    def test_all_together(self):
        r = random("arguments")
        for _ in range(60):
            self.assert_right(reference.draw(r))
