import unittest

from tallybook.quick_shelves import quick_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(quick_shelves([1, 2, 3], 2), [[1, 2], [3]])
