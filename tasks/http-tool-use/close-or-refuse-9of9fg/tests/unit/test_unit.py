"""What a clerk does who meets nothing unusual."""
import unittest

from support import state


class TestUnit(unittest.TestCase):
    def test_closings(self):
        self.assertEqual(state.missing("closings"), [])

    def test_refusals(self):
        self.assertEqual(state.missing("refusals"), [])
