"""What a clerk does who meets nothing unusual."""
import unittest

from support import state


class TestUnit(unittest.TestCase):
    def test_escalations(self):
        self.assertEqual(state.missing("escalations"), [])

    def test_labels(self):
        self.assertEqual(state.missing("labels"), [])

    def test_refunds(self):
        self.assertEqual(state.missing("refunds"), [])
