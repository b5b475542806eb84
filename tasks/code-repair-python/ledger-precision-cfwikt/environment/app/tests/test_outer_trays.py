import unittest

from bookkeep.outer_trays import outer_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(outer_trays("x" * 99)), 26)
