"""Plain cases, which no reading of a rule changes."""

import unittest

from sandlot_subject import subject


class TestPlain(unittest.TestCase):
    def test_plain(self):
        for arguments, expected in zip([[{}], [{"a": []}], [{"c": ["b"], "b": ["a"], "a": []}], [{"one": ["two"], "two": ["three"], "three": []}]], [[], ['a'], ['a', 'b', 'c'], ['three', 'two', 'one']]):
            self.assertEqual(subject.call("/app/dependency_order.py:ordered", arguments), expected, arguments)
