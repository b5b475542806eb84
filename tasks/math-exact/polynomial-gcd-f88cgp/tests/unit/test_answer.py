"""The answer to the stated instance."""

import unittest

from sandlot_subject import artifacts
from support import reference

INSTANCE = """-336 -768 -4 872 324 -230 -110
-768 -504 8 -726 -230 390 150
"""


class TestAnswer(unittest.TestCase):
    def test_stated_instance(self):
        written = (artifacts / "app" / "answer.txt").read_text(encoding="utf-8", errors="replace")
        self.assertEqual(written.strip(), reference.solve(INSTANCE))
