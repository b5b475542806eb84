import unittest

from tallybook.daily_marks import daily_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(daily_marks("x" * 99)), 22)
