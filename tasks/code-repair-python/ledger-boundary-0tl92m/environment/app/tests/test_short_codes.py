import unittest

from tallybook.short_codes import short_codes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(short_codes("x" * 99)), 6)
