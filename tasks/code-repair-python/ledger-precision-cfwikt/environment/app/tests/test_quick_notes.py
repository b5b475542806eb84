import unittest

from bookkeep.quick_notes import quick_notes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(quick_notes([1, 2, 3], 2), [[1, 2], [3]])
