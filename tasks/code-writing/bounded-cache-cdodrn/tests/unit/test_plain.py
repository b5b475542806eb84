"""Plain cases, which no reading of a rule changes."""

import unittest

from sandlot_subject import subject


class TestPlain(unittest.TestCase):
    def test_plain(self):
        for arguments, expected in zip([[3, 100, [["put", 0, "a", 1], ["get", 1, "a"], ["get", 2, "b"], ["put", 3, "b", "two"], ["get", 3, "b"]]], [5, 10, []], [4, 50, [["get", 1, "x"]]]], [[1, None, 'two'], [], [None]]):
            self.assertEqual(subject.call("/app/bounded_cache.py:simulate", arguments), expected, arguments)
