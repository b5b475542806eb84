import unittest

from ledger.daily_shelves import daily_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(daily_shelves([1, 2, 3], 2), [[1, 2], [3]])
