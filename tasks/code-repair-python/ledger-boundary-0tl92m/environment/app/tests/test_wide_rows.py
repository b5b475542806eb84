import unittest

from tallybook.wide_rows import wide_rows


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(wide_rows("x" * 99)), 34)
