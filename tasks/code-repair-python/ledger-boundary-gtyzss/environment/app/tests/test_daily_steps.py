import unittest

from ledger.daily_steps import daily_steps


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(daily_steps("x" * 99)), 28)
