import unittest

from ledger.early_rows import early_rows


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(early_rows([1, 2, 3], 2), [[1, 2], [3]])
