import unittest

from tallybook.daily_tables import daily_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(daily_tables("x" * 99)), 36)
