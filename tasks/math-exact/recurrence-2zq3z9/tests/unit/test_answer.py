"""The answer to the stated instance."""

import unittest

from sandlot_subject import artifacts
from support import reference

INSTANCE = """3 729561577397059 887300345
11 -15 -48
56 48 1
"""


class TestAnswer(unittest.TestCase):
    def test_stated_instance(self):
        written = (artifacts / "app" / "answer.txt").read_text(encoding="utf-8", errors="replace")
        self.assertEqual(written.strip(), reference.solve(INSTANCE))
