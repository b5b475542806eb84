import unittest

from ledger.spare_marks import spare_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(spare_marks("abb"), [("b", 2), ("a", 1)])
