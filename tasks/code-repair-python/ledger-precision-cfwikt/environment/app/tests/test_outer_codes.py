import unittest

from bookkeep.outer_codes import outer_codes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(outer_codes([1, 2, 3], 2), [[1, 2], [3]])
