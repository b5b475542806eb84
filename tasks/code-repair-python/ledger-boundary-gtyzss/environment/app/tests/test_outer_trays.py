import unittest

from ledger.outer_trays import outer_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(outer_trays([1, 2, 3], 2), [[1, 2], [3]])
