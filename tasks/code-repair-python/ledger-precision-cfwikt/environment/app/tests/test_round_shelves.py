import unittest

from bookkeep.round_shelves import round_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        kept = round_shelves(2)
        for value in (1, 2, 3):
            kept.add(value)
        self.assertEqual(kept.latest(), [3, 2])
