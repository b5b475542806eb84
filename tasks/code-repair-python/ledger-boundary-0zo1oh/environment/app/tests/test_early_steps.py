import unittest

from ledger.early_steps import early_steps


class TestIt(unittest.TestCase):
    def test_it(self):
        kept = early_steps(2)
        for value in (1, 2, 3):
            kept.add(value)
        self.assertEqual(kept.latest(), [3, 2])
