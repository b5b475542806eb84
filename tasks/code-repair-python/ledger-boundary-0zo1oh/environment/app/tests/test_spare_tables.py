import unittest

from ledger.spare_tables import spare_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(spare_tables("abb"), [("b", 2), ("a", 1)])
