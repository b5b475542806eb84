import unittest

from bookkeep.wide_marks import wide_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(wide_marks([["a", 1], ["bb", 2]]), "a   1\nbb  2")
