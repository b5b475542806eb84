import unittest

from ledger.outer_notes import outer_notes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(outer_notes([["a", 1], ["bb", 2]]), "a   1\nbb  2")
