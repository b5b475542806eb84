"""The answer to the stated instance."""

import unittest

from sandlot_subject import artifacts
from support import reference

INSTANCE = """23
68 -67/7
-1 -49/5
4/3 176/5
8/3 29/9
19/3 40/7
23/3 54/2
32/3 283/6
36/3 144/4
42/3 162/3
50/3 300/2
60/3 335/9
66/3 113/3
75/3 349/5
82/3 365/8
87/3 346/8
91/3 92/4
103/3 289/4
109/3 46/5
114/3 60/9
120/3 396/2
128/3 149/6
133/3 20/9
140/3 155/6
"""


class TestAnswer(unittest.TestCase):
    def test_stated_instance(self):
        written = (artifacts / "app" / "answer.txt").read_text(encoding="utf-8", errors="replace")
        self.assertEqual(written.strip(), reference.solve(INSTANCE))
