"""Plain cases, which no reading of a rule changes."""

import unittest

from sandlot_subject import subject


class TestPlain(unittest.TestCase):
    def test_plain(self):
        for arguments, expected in zip([[[]], [[["a", 5, 1, 2]]], [[["late", 20, 1, 2], ["early", 0, 1, 2]]]], [[], [['a', 5, 7]], [['early', 0, 2], ['late', 20, 22]]]):
            self.assertEqual(subject.call("/app/work.py:schedule", arguments), expected, arguments)
