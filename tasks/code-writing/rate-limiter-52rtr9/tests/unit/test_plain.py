"""Plain cases, which no reading of a rule changes."""

import unittest

from sandlot_subject import subject


class TestPlain(unittest.TestCase):
    def test_plain(self):
        for arguments, expected in zip([[3, 10, []], [3, 10, [1, 2, 3]], [2, 5, [0, 10, 20, 30]], [1, 2, [5]]], [[], [True, True, True], [True, True, True, True], [True]]):
            self.assertEqual(subject.call("/app/work.py:allowed", arguments), expected, arguments)
