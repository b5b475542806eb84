"""The answer to the stated instance."""

import unittest

from sandlot_subject import artifacts
from support import reference

INSTANCE = """8
22 -6 30 6 -18 21 20 -1/4
-17 1 23 12 21 22 -4 -3/4
22 -12 -17 -10 4 27 25 30/2
-9 -23 12 -3 -1 25 9 24/4
18 15 20 3 -16 25 3 -17/9
14 11 -5 -29 5 -15 -4 0/2
-22 -10 -15 15 25 0 -12 -27/8
-23 8 -21 -5 -25 7 -13 6/8
"""


class TestAnswer(unittest.TestCase):
    def test_stated_instance(self):
        written = (artifacts / "app" / "answer.txt").read_text(encoding="utf-8", errors="replace")
        self.assertEqual(written.strip(), reference.solve(INSTANCE))
