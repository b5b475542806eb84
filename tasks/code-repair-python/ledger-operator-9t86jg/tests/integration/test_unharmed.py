import unittest

from sandlot_subject import random
from support.ask import ask


class TestUnharmed(unittest.TestCase):
    def test_balances_of_whole_entries(self):
        r = random("balances")
        moves = [[r.choice(["bank", "cash"]), r.choice(["food", "rent"]), r.randrange(1, 9999)] for _ in range(12)]
        got = ask("""
    from ledger.book import AccountBook
    book = AccountBook(["bank", "cash", "food", "rent"])
    numbers = [book.post("2024-01-02", "move", [(a, -c), (b, c)]) for a, b, c in given]
    show([numbers, {name: book.balance(name) for name in book.accounts()}])
    """, moves)
        balances = {name: 0 for name in ("bank", "cash", "food", "rent")}
        for a, b, c in moves:
            balances[a] -= c
            balances[b] += c
        self.assertEqual(got, [list(range(1, 13)), balances])

    def test_amounts_as_text(self):
        r = random("texts")
        cents = [r.randrange(100, 10**7) for _ in range(8)]
        got = ask("from ledger import money\nshow([[money.show(c), money.parse(money.show(c))] for c in given])", cents)
        self.assertEqual(got, [[str(c // 100) + "." + str(c % 100).zfill(2), c] for c in cents])

    def test_trial_balance_leaves_out_zero(self):
        c = random("trial").randrange(1, 900)
        got = ask("""
    from ledger.book import AccountBook
    from ledger.report import trial_balance
    book = AccountBook(["b", "a", "z"])
    book.post("2024-02-01", "x", [("b", -given), ("a", given)])
    show(trial_balance(book))
    """, c)
        sign = lambda v: ("-" if v < 0 else "") + str(abs(v) // 100) + "." + str(abs(v) % 100).zfill(2)
        self.assertEqual(got, {"a": sign(c), "b": sign(-c)})

    def test_refuses_lines_that_do_not_add_up(self):
        got = ask("""
    from ledger.book import AccountBook
    book = AccountBook(["a", "b"])
    try:
        book.post("2024-02-01", "x", [("a", -given), ("b", given + 1)])
        show("booked")
    except ValueError:
        show(book.balance("a"))
    """, random("sum").randrange(1, 500))
        self.assertEqual(got, 0)
