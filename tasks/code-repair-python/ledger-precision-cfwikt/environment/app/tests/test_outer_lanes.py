import unittest

from bookkeep.outer_lanes import outer_lanes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(outer_lanes([["a", 1], ["bb", 2]]), "a   1\nbb  2")
