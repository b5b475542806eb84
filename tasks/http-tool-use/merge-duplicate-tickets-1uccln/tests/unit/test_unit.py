"""What a clerk does who meets nothing unusual."""
import unittest

from support import state


class TestUnit(unittest.TestCase):
    def test_merges(self):
        self.assertEqual(state.missing("merges"), [])

    def test_notes(self):
        self.assertEqual(state.missing("notes"), [])

    def test_survivors(self):
        self.assertEqual(state.missing("survivors"), [])
