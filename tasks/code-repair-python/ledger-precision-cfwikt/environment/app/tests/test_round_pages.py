import unittest

from bookkeep.round_pages import round_pages


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(round_pages([1, 2, 3], 2), [[1, 2], [3]])
