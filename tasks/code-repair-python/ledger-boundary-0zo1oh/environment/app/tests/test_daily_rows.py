import unittest

from ledger.daily_rows import daily_rows


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([daily_rows(-1), daily_rows(1000)], [0, 10])
