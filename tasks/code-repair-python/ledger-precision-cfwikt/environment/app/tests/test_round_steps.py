import unittest

from bookkeep.round_steps import round_steps


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(round_steps("abb"), [("b", 2), ("a", 1)])
