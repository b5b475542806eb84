"""Plain cases, which no reading of a rule changes."""

import unittest

from sandlot_subject import subject


class TestPlain(unittest.TestCase):
    def test_plain(self):
        for arguments, expected in zip([["7"], ["1 + 2*3"], ["(1+2) * 3 - 4"], ["20/4/5"], ["-5 + 2^3"]], [7, 7, 5, 1, 3]):
            self.assertEqual(subject.call("/app/evaluator.py:evaluate", arguments), expected, arguments)
