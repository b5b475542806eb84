import unittest

from ledger.north_marks import north_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([north_marks(-1), north_marks(1000)], [0, 40])
