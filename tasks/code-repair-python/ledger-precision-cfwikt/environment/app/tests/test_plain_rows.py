import unittest

from bookkeep.plain_rows import plain_rows


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(plain_rows("x" * 99)), 24)
