import unittest

from sandlot_subject import random
from support.ask import ask


class TestNegativeFractions(unittest.TestCase):
    def test_less_than_one(self):
        part = random("part").randrange(10, 100)
        got = ask("from ledger.money import parse\nshow([parse('-0.%d' % given), parse(' -0.05 '), parse('-0.5'), parse('+0.07'), parse('-4')])", part)
        self.assertEqual(got, [-part, -5, -50, 7, -400])

    def test_refuses_what_is_no_amount(self):
        got = ask("""
    from ledger.money import parse
    result = []
    for text in given:
        try:
            result.append(parse(text))
        except ValueError:
            result.append("refused")
    show(result)
    """, ["", ".5", "1.234", "-", "1.2.3", "a", "1-"])
        self.assertEqual(got, ["refused"] * 7)


class TestSharedCents(unittest.TestCase):
    def test_negative_amounts(self):
        r = random("negative")
        cases = [[-r.randrange(1, 10**6), [r.randrange(1, 9) for _ in range(3)]] for _ in range(20)]
        got = ask("from ledger.money import split_amount\nshow([split_amount(c, w) for c, w in given])", cases)
        for (cents, weights), shares in zip(cases, got):
            total = sum(weights)
            low = [cents * w // total for w in weights]
            order = sorted(range(3), key=lambda at: (-(cents * weights[at] % total), at))
            for at in order[: cents - sum(low)]:
                low[at] += 1
            self.assertEqual(shares, low)

    def test_a_weight_of_zero_gets_nothing(self):
        cents = random("zero").randrange(10**16, 10**17) | 1
        self.assertEqual(ask("from ledger.money import split_amount\nshow(split_amount(given, [0, 1, 0]))", cents), [0, cents, 0])
