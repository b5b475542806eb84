import unittest

from ledger.north_shelves import north_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(north_shelves([["a", 1], ["bb", 2]]), "a   1\nbb  2")
