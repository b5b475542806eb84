"""Every rule alone, and all together on fresh arguments."""

import copy
import unittest

from sandlot_subject import random, subject
from support import reference


class TestRules(unittest.TestCase):
    def assert_right(self, arguments):
        expected = reference.allowed(*copy.deepcopy(arguments))
        self.assertEqual(subject.call("/app/work.py:allowed", arguments), expected, arguments)

    def test_refused_count(self):
        for arguments in [[1, 10, [0, 5, 12]], [2, 10, [0, 1, 8, 9, 15]]]:
            self.assert_right(arguments)

    def test_edge(self):
        for arguments in [[1, 10, [0, 10]], [2, 4, [0, 1, 5]]]:
            self.assert_right(arguments)

    def test_clamped(self):
        for arguments in [[5, 10, [9, 3]], [3, 10, [20, 4, 25]]]:
            self.assert_right(arguments)

    def test_at_the_edge(self):
        for arguments in [[0, 5, [1, 2]], [0, 1, [7]]]:
            self.assert_right(arguments)

    def test_all_together(self):
        r = random("arguments")
        for _ in range(60):
            self.assert_right(reference.draw(r))
