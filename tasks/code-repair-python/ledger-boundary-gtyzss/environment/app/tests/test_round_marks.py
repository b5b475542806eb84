import unittest

from ledger.round_marks import round_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(round_marks("x" * 99)), 18)
