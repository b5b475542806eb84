import unittest

from ledger.spare_lanes import spare_lanes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(spare_lanes("abb"), [("b", 2), ("a", 1)])
