import unittest

from ledger.early_shelves import early_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(early_shelves([["a", 1], ["bb", 2]]), "a   1\nbb  2")
