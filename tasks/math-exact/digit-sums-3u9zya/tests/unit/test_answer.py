"""The answer to the stated instance."""

import unittest

from sandlot_subject import artifacts
from support import reference

INSTANCE = """108616766017225585498476558416 8 1 11
"""


class TestAnswer(unittest.TestCase):
    def test_stated_instance(self):
        written = (artifacts / "app" / "answer.txt").read_text(encoding="utf-8", errors="replace")
        self.assertEqual(written.strip(), reference.solve(INSTANCE))
