"""What a clerk does who meets nothing unusual."""
import unittest

from support import state


class TestUnit(unittest.TestCase):
    def test_moves(self):
        self.assertEqual(state.missing("moves"), [])

    def test_notes(self):
        self.assertEqual(state.missing("notes"), [])

    def test_refusals(self):
        self.assertEqual(state.missing("refusals"), [])
