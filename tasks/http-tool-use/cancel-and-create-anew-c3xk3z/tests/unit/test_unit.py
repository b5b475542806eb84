"""What a clerk does who meets nothing unusual."""
import unittest

from support import state


class TestUnit(unittest.TestCase):
    def test_cancellations(self):
        self.assertEqual(state.missing("cancellations"), [])

    def test_new_orders(self):
        self.assertEqual(state.missing("new-orders"), [])

    def test_refusals(self):
        self.assertEqual(state.missing("refusals"), [])
