import unittest

from ledger.wide_trays import wide_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(wide_trays([["a", 1], ["bb", 2]]), "a   1\nbb  2")
