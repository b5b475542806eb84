import unittest

from bookkeep.north_tables import north_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(north_tables([["a", 1], ["bb", 2]]), "a   1\nbb  2")
