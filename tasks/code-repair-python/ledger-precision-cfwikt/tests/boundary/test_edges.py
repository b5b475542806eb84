import unittest

from sandlot_subject import random
from support.ask import ask


class TestSharedCents(unittest.TestCase):
    def test_negative_amounts(self):
        r = random("negative")
        cases = [[-r.randrange(1, 10**6), [r.randrange(1, 9) for _ in range(3)]] for _ in range(20)]
        got = ask("from bookkeep.money import divide\nshow([divide(c, w) for c, w in given])", cases)
        for (cents, weights), shares in zip(cases, got):
            total = sum(weights)
            low = [cents * w // total for w in weights]
            order = sorted(range(3), key=lambda at: (-(cents * weights[at] % total), at))
            for at in order[: cents - sum(low)]:
                low[at] += 1
            self.assertEqual(shares, low)

    def test_a_weight_of_zero_gets_nothing(self):
        cents = random("zero").randrange(10**16, 10**17) | 1
        self.assertEqual(ask("from bookkeep.money import divide\nshow(divide(given, [0, 1, 0]))", cents), [0, cents, 0])
