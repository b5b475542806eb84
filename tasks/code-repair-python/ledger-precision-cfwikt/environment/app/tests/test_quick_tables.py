import unittest

from bookkeep.quick_tables import quick_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([quick_tables(-1), quick_tables(1000)], [0, 12])
