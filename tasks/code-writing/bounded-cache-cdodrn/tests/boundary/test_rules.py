"""Every rule alone, and all together on fresh arguments."""

import copy
import unittest

from sandlot_subject import random, subject
from support import reference


class TestRules(unittest.TestCase):
    def assert_right(self, arguments):
        expected = reference.simulate(*copy.deepcopy(arguments))
        self.assertEqual(subject.call("/app/bounded_cache.py:simulate", arguments), expected, arguments)

    def test_refresh(self):
        for arguments in [[9, 10, [["put", 0, "a", 1], ["get", 6, "a"], ["get", 14, "a"]]], [9, 20, [["put", 0, "a", 1], ["get", 15, "a"], ["get", 32, "a"]]]]:
            self.assert_right(arguments)

    def test_recent(self):
        for arguments in [[2, 99, [["put", 0, "a", 1], ["put", 1, "b", 2], ["get", 2, "a"], ["put", 3, "c", 3], ["get", 4, "a"], ["get", 5, "b"]]]]:
            self.assert_right(arguments)

    def test_last(self):
        for arguments in [[9, 5, [["put", 0, "a", 1], ["get", 5, "a"]]], [9, 7, [["put", 3, "b", 2], ["get", 10, "b"], ["get", 11, "b"]]]]:
            self.assert_right(arguments)

    def test_at_the_edge(self):
        for arguments in [[2, 99, [["put", 0, "a", 1], ["put", 1, "b", 2], ["put", 2, "b", 3], ["get", 3, "a"], ["get", 4, "b"]]], [0, 9, [["put", 0, "a", 1], ["get", 0, "a"]]]]:
            self.assert_right(arguments)

    def test_all_together(self):
        r = random("arguments")
        for _ in range(60):
            self.assert_right(reference.draw(r))
