"""Plain cases, which no reading of a rule changes."""

import unittest

from sandlot_subject import subject


class TestPlain(unittest.TestCase):
    def test_plain(self):
        for arguments, expected in zip([[[]], [[[2, 5]]], [[[1, 4], [2, 6]]], [[[5, 9], [1, 6], [8, 20]]]], [[], [[2, 5]], [[1, 6]], [[1, 20]]]):
            self.assertEqual(subject.call("/app/work.py:joined", arguments), expected, arguments)
