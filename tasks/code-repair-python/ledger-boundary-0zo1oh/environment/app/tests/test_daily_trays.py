import unittest

from ledger.daily_trays import daily_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([daily_trays(-1), daily_trays(1000)], [0, 30])
