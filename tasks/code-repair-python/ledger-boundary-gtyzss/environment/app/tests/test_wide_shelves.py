import unittest

from ledger.wide_shelves import wide_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(wide_shelves("x" * 99)), 15)
