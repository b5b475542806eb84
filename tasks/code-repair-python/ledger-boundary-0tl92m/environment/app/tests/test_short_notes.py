import unittest

from tallybook.short_notes import short_notes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(short_notes("abb"), [("b", 2), ("a", 1)])
