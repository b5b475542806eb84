import unittest

from sandlot_subject import random
from support.ask import ask


class TestLastDay(unittest.TestCase):
    def test_one_day_and_no_day(self):
        cents = random("one-day").randrange(100, 999)
        got = ask("""
    from ledger.book import Journal
    from ledger.report import statement
    book = Journal(["a", "b"])
    for day in ("2024-05-01", "2024-05-02", "2024-05-03"):
        book.record(day, day, [("a", -given), ("b", given)])
    one = statement(book, "b", "2024-05-02", "2024-05-02")
    none = statement(book, "b", "2024-05-02", "2024-05-01")
    show([[line["note"] for line in one["lines"]], none["lines"]])
    """, cents)
        self.assertEqual(got, [["2024-05-02"], []])

    def test_an_entry_within_one_account_is_no_line(self):
        got = ask("""
    from ledger.book import Journal
    from ledger.report import statement
    book = Journal(["a", "b"])
    book.record("2024-05-02", "within", [("a", -given), ("a", given)])
    book.record("2024-05-02", "between", [("a", -given), ("b", given)])
    show([line["note"] for line in statement(book, "a", "2024-05-01", "2024-05-02")["lines"]])
    """, random("within").randrange(1, 999))
        self.assertEqual(got, ["between"])


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
