import unittest

from sandlot_subject import random
from support.ask import ask


class TestLastDay(unittest.TestCase):
    def test_closing_is_the_next_opening(self):
        r = random("months")
        moves = [["2024-%02d-%02d" % (r.randrange(1, 4), r.choice([1, 15, 28])), r.randrange(1, 999)] for _ in range(12)]
        moves += [["2024-01-28", 700], ["2024-02-28", 300]]
        got = ask("""
    from tallybook.book import Ledger
    from tallybook.report import statement
    book = Ledger(["a", "b"])
    for day, cents in given:
        book.enter(day, "x", [("a", -cents), ("b", cents)])
    show([statement(book, "b", "2024-%02d-01" % m, "2024-%02d-28" % m) for m in (1, 2, 3)])
    """, moves)
        text = lambda v: str(v // 100) + "." + str(v % 100).zfill(2)
        for month, said in enumerate(got, start=1):
            before = sum(c for day, c in moves if day < "2024-%02d-01" % month)
            within = sum(c for day, c in moves if day[:7] == "2024-%02d" % month)
            self.assertEqual((said["opening"], said["closing"]), (text(before), text(before + within)))

    def test_lines_of_the_last_day(self):
        day = random("day").randrange(10, 29)
        got = ask("""
    from tallybook.book import Ledger
    from tallybook.report import statement
    book = Ledger(["a", "b"])
    for at in (given - 1, given, given + 1):
        book.enter("2024-06-%02d" % at, "n%d" % at, [("a", -100), ("b", 100)])
    show([line["note"] for line in statement(book, "b", "2024-06-01", "2024-06-%02d" % given)["lines"]])
    """, day)
        self.assertEqual(got, ["n%d" % (day - 1), "n%d" % day])


class TestNegativeFractions(unittest.TestCase):
    def test_entries_of_text_amounts(self):
        r = random("text")
        cents = [115, 435] + [r.randrange(1, 900) * 100 + r.randrange(1, 100) for _ in range(4)]
        got = ask("""
    from tallybook.book import Ledger
    book = Ledger(["a", "b"])
    for c in given:
        text = str(c // 100) + "." + str(c % 100).zfill(2)
        book.enter("2024-03-01", "x", [("a", "-" + text), ("b", text)])
    show([book.balance("a"), book.balance("b")])
    """, cents)
        self.assertEqual(got, [-sum(cents), sum(cents)])

    def test_negative_texts(self):
        r = random("one")
        numbers = [[r.randrange(1, 99), r.randrange(10, 100)] for _ in range(6)]
        got = ask("from tallybook.money import parse\nshow([parse('-%d.%d' % (a, b)) for a, b in given])", numbers)
        self.assertEqual(got, [-(a * 100 + b) for a, b in numbers])
