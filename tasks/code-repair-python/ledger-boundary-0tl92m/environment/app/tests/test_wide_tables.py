import unittest

from tallybook.wide_tables import wide_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(wide_tables("abb"), [("b", 2), ("a", 1)])
