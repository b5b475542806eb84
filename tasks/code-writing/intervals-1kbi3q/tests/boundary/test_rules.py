"""Every rule alone, and all together on fresh arguments."""

import copy
import unittest

from sandlot_subject import random, subject
from support import reference


class TestRules(unittest.TestCase):
    def assert_right(self, arguments):
        expected = reference.joined(*copy.deepcopy(arguments))
        self.assertEqual(subject.call("/app/work.py:joined", arguments), expected, arguments)

    def test_touching(self):
        for arguments in [[[[1, 3], [3, 5]]], [[[0, 2], [2, 4], [4, 9]]]]:
            self.assert_right(arguments)

    def test_swapped(self):
        for arguments in [[[[8, 5]]], [[[9, 6], [7, 12]]]]:
            self.assert_right(arguments)

    def test_falling(self):
        for arguments in [[[[1, 2], [4, 5]]], [[[10, 12], [1, 3], [5, 8]]]]:
            self.assert_right(arguments)

    def test_at_the_edge(self):
        for arguments in [[[[1, 10], [2, 3]]], [[[1, 10], [2, 3], [5, 12], [6, 7]]], [[[4, 6], [4, 6]]]]:
            self.assert_right(arguments)

    def test_all_together(self):
        r = random("arguments")
        for _ in range(60):
            self.assert_right(reference.draw(r))
