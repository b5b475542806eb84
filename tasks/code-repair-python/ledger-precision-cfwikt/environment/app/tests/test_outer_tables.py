import unittest

from bookkeep.outer_tables import outer_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(outer_tables("abb"), [("b", 2), ("a", 1)])
