import unittest

from bookkeep.daily_pages import daily_pages


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(daily_pages("x" * 99)), 11)
