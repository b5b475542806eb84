import unittest

from ledger.early_lanes import early_lanes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(early_lanes([["a", 1], ["bb", 2]]), "a   1\nbb  2")
