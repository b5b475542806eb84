import unittest

from ledger.quick_rows import quick_rows


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(quick_rows(""), 30)
