import unittest

from ledger.short_shelves import short_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(short_shelves([["a", 1], ["bb", 2]]), "a   1\nbb  2")
