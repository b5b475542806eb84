import unittest

from tallybook.wide_lanes import wide_lanes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(wide_lanes("abb"), [("b", 2), ("a", 1)])
