import unittest

from sandlot_subject import random
from support.ask import ask


class TestNegativeFractions(unittest.TestCase):
    def test_entries_of_text_amounts(self):
        r = random("text")
        cents = [115, 435] + [r.randrange(1, 900) * 100 + r.randrange(1, 100) for _ in range(4)]
        got = ask("""
    from ledger.book import Ledger
    book = Ledger(["a", "b"])
    for c in given:
        text = str(c // 100) + "." + str(c % 100).zfill(2)
        book.record("2024-03-01", "x", [("a", "-" + text), ("b", text)])
    show([book.balance("a"), book.balance("b")])
    """, cents)
        self.assertEqual(got, [-sum(cents), sum(cents)])

    def test_negative_texts(self):
        r = random("one")
        numbers = [[r.randrange(1, 99), r.randrange(10, 100)] for _ in range(6)]
        got = ask("from ledger.money import parse\nshow([parse('-%d.%d' % (a, b)) for a, b in given])", numbers)
        self.assertEqual(got, [-(a * 100 + b) for a, b in numbers])


class TestSharedCents(unittest.TestCase):
    def test_shares_of_large_costs(self):
        r = random("large")
        amounts = [r.randrange(10**17, 10**18) for _ in range(4)]
        got = ask("""
    from ledger.book import Ledger
    from ledger.report import Qshare_cost
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
        got = ask("from ledger.money import split_amount\nshow([split_amount(c, w) for c, w in given])", cases + [[10**17 + 1, [1, 2]]])
        self.assertEqual(got[-1], [33333333333333334, 66666666666666667])
        self.assertEqual([sum(shares) for shares in got[:-1]], [c for c, _ in cases])
