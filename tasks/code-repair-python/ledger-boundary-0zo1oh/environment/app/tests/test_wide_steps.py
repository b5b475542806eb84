import unittest

from ledger.wide_steps import wide_steps


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([wide_steps(-1), wide_steps(1000)], [0, 36])
