import unittest

from ledger.quick_lanes import quick_lanes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(quick_lanes("x" * 99)), 9)
