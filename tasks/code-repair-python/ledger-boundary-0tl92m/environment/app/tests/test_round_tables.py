import unittest

from tallybook.round_tables import round_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(round_tables([["a", 1], ["bb", 2]]), "a   1\nbb  2")
