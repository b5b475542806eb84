"""Every rule alone, and all together on fresh arguments."""

import copy
import unittest

from sandlot_subject import random, subject
from support import reference


class TestRules(unittest.TestCase):
    def assert_right(self, arguments):
        expected = reference.schedule(*copy.deepcopy(arguments))
        self.assertEqual(subject.call("/app/work.py:schedule", arguments), expected, arguments)

    def test_high_first(self):
        for arguments in [[[["a", 0, 1, 5], ["b", 1, 2, 5], ["c", 2, 9, 5]]]]:
            self.assert_right(arguments)

    def test_short_first(self):
        for arguments in [[[["a", 0, 3, 9], ["b", 1, 3, 8], ["c", 2, 3, 2]]]]:
            self.assert_right(arguments)

    def test_pause(self):
        for arguments in [[[["a", 0, 3, 4], ["b", 1, 3, 4]]]]:
            self.assert_right(arguments)

    def test_at_the_edge(self):
        for arguments in [[[["a", 0, 1, -1], ["b", 0, 1, 0]]], [[["x", 9, 2, -5]]]]:
            self.assert_right(arguments)

    def test_all_together(self):
        r = random("arguments")
        for _ in range(60):
            self.assert_right(reference.draw(r))
