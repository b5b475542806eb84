import unittest

from tallybook.quick_trays import quick_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(quick_trays([["a", 1], ["bb", 2]]), "a   1\nbb  2")
