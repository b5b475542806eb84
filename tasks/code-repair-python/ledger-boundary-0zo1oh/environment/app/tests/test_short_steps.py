import unittest

from ledger.short_steps import short_steps


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(short_steps([["a", 1], ["bb", 2]]), "a   1\nbb  2")
