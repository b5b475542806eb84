import unittest

from ledger.outer_labels import outer_labels


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(outer_labels([1, 2, 3], 2), [[1, 2], [3]])
