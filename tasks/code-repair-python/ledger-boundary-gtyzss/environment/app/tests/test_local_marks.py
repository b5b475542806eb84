import unittest

from ledger.local_marks import local_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(local_marks(""), 6)
