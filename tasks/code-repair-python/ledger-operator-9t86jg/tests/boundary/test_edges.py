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
        got = ask("from ledger.money import divide\nshow([divide(c, w) for c, w in given])", cases)
        for (cents, weights), shares in zip(cases, got):
            total = sum(weights)
            low = [cents * w // total for w in weights]
            order = sorted(range(3), key=lambda at: (-(cents * weights[at] % total), at))
            for at in order[: cents - sum(low)]:
                low[at] += 1
            self.assertEqual(shares, low)

    def test_a_weight_of_zero_gets_nothing(self):
        cents = random("zero").randrange(10**16, 10**17) | 1
        self.assertEqual(ask("from ledger.money import divide\nshow(divide(given, [0, 1, 0]))", cents), [0, cents, 0])


class TestLastDay(unittest.TestCase):
    def test_one_day_and_no_day(self):
        cents = random("one-day").randrange(100, 999)
        got = ask("""
    from ledger.book import AccountBook
    from ledger.report import statement
    book = AccountBook(["a", "b"])
    for day in ("2024-05-01", "2024-05-02", "2024-05-03"):
        book.post(day, day, [("a", -given), ("b", given)])
    one = statement(book, "b", "2024-05-02", "2024-05-02")
    none = statement(book, "b", "2024-05-02", "2024-05-01")
    show([[line["note"] for line in one["lines"]], none["lines"]])
    """, cents)
        self.assertEqual(got, [["2024-05-02"], []])

    def test_an_entry_within_one_account_is_no_line(self):
        got = ask("""
    from ledger.book import AccountBook
    from ledger.report import statement
    book = AccountBook(["a", "b"])
    book.post("2024-05-02", "within", [("a", -given), ("a", given)])
    book.post("2024-05-02", "between", [("a", -given), ("b", given)])
    show([line["note"] for line in statement(book, "a", "2024-05-01", "2024-05-02")["lines"]])
    """, random("within").randrange(1, 999))
        self.assertEqual(got, ["between"])
