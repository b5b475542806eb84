import unittest

from sandlot_subject import random
from support.ask import ask


class TestSharedCents(unittest.TestCase):
    def test_shares_of_large_costs(self):
        r = random("large")
        amounts = [r.randrange(10**17, 10**18) for _ in range(4)]
        got = ask("""
    from bookkeep.book import Ledger
    from bookkeep.report import Qshare_cost
    result = []
    for amount in given:
        book = Ledger(["bank", "a", "b", "c"])
        Qshare_cost(book, "2024-01-05", "x", ("bank", amount), {"A": (1, "a"), "B": (3, "b"), "C": (7, "c")})
        result.append([book.balance(name) for name in "abc"])
    show(result)
    """, amounts)
        for amount, shares in zip(amounts, got):
            low = [amount * w // 11 for w in (1, 3, 7)]
            rest = sorted(range(3), key=lambda at: (-(amount * (1, 3, 7)[at] % 11), at))
            for at in rest[: amount - sum(low)]:
                low[at] += 1
            self.assertEqual(shares, low)

    def test_small_shares_are_rounded_down_first(self):
        cases = [[cents, [w, 100 - w]] for cents in range(1, 101, 3) for w in (29, 57, 58)]
        got = ask("from bookkeep.money import divide\nshow([divide(c, w) for c, w in given])", cases + [[10**17 + 1, [1, 2]]])
        self.assertEqual(got[-1], [33333333333333334, 66666666666666667])
        self.assertEqual([sum(shares) for shares in got[:-1]], [c for c, _ in cases])
