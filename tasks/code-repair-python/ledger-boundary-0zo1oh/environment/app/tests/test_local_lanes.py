import unittest

from ledger.local_lanes import local_lanes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(local_lanes(""), 25)
