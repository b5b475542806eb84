import unittest

from ledger.outer_parts import outer_parts


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(outer_parts(""), 7)
