"""Every rule alone, and all together on fresh arguments."""

import copy
import unittest

from sandlot_subject import random, subject
from support import reference


class TestRules(unittest.TestCase):
    def assert_right(self, arguments):
        expected = reference.evaluate(*copy.deepcopy(arguments))
        self.assertEqual(subject.call("/app/evaluator.py:evaluate", arguments), expected, arguments)

    def test_power_from_right(self):
        for arguments in [["2^3^2"], ["3^1^2^2 + 3^2^2"]]:
            self.assert_right(arguments)

    def test_floor(self):
        for arguments in [["(0-7)/2"], ["9/(1-5)"]]:
            self.assert_right(arguments)

    def test_minus_first(self):
        for arguments in [["-2^2"], ["1 - -3^2"]]:
            self.assert_right(arguments)

    def test_at_the_edge(self):
        for arguments in [["1/0"], ["5 + 2/(3-3) * 0"]]:
            self.assert_right(arguments)

    def test_all_together(self):
        r = random("arguments")
        for _ in range(60):
            self.assert_right(reference.draw(r))
