import unittest

from tallybook.daily_steps import daily_steps


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(daily_steps("abb"), [("b", 2), ("a", 1)])
