/** A double-entry ledger in whole cents: amounts as text, postings that balance, statements over days. */
import type { World } from "../../support/repair/world.ts";
import { BOOK, MONEY, REPORT } from "./ledger-source.ts";

export const LEDGER: World = {
  name: "ledger",
  title: "small double-entry ledger",
  names: {
    PKG: ["ledger", "cashbook", "bookkeep", "abacus", "tallybook"],
    QBook: ["Ledger", "Journal", "AccountBook", "Daybook"],
    Qsplit: ["allocate", "apportion", "divide", "split_amount"],
    Qpost: ["post", "record", "enter"],
    Qstatement: ["statement", "account_statement", "extract"],
    Qshare_cost: ["share_cost", "split_cost", "book_shared"],
  },
  files: {
    "__init__.py": '"""A small double-entry ledger. The rules are in README.md."""\n',
    "money.py": MONEY,
    "book.py": BOOK,
    "report.py": REPORT,
  },
  readme: `# PKG

A double-entry ledger. All amounts are whole cents (int). Days are texts such as "2024-05-31".

## PKG.money

- parse(text): whole cents of "12", "12.5", "12.50", "+3" or "-0.05". White space around it is allowed. A sign counts for
  the whole amount, also where its whole part is 0. Anything else, also ".5", "1.234" and "", is a ValueError.
- show(cents): the text with two decimals: 5 is "0.05", -5 is "-0.05", 0 is "0.00".
- Qsplit(cents, weights): shares in proportion to whole weights, which add up to the amount exactly. Each share is first
  rounded down; the cents that are left go, one each, to the shares with the largest rest cut off, of equal rests to the
  one that stands first. A weight of 0 gets nothing. This holds for large amounts (beyond 2**53) and negative ones too.

## PKG.book

- QBook(accounts): a book with these accounts open. open(account) opens one more; limit(account, least) says how low its
  balance may go: least itself is still allowed.
- Qpost(day, note, lines): lines are (account, amount), amounts in cents or as text, and add up to 0. It returns the number
  of the entry, counted from 1. Where an entry is not allowed (lines that do not add up, an unknown account, a limit) it is
  a ValueError, and the book is as it was before.
- entries(): by day; entries of one day in the order in which they were booked. An entry keeps the lines it was booked
  with, whatever happens later to the list that was given.
- reverse(number, day): books the opposite of an entry.
- balance(account), accounts(): the balance in cents, all names in order.

## PKG.report

- Qstatement(book, account, first, last): the days first to last, both included. "opening" is the balance of all entries
  before first, "closing" that after last; each line has day, note and the running balance.
- trial_balance(book): accounts with a balance that is not 0.
- Qshare_cost(book, day, note, payer, people): payer is (account, cents); people is {name: (weight, account)}. The cost is
  taken from the payer's account and shared by Qsplit in the order of people.
`,
  own: `def test_balances(self):
    from PKG.book import QBook
    book = QBook(["bank", "food"])
    book.Qpost("2024-01-02", "market", [("bank", -250), ("food", 250)])
    self.assertEqual(book.balance("food"), 250)

def test_text_amounts(self):
    from PKG.money import parse, show
    self.assertEqual(parse("12.5"), 1250)
    self.assertEqual(show(1205), "12.05")
`,
  integration: String.raw`def test_balances_of_whole_entries(self):
    r = random("balances")
    moves = [[r.choice(["bank", "cash"]), r.choice(["food", "rent"]), r.randrange(1, 9999)] for _ in range(12)]
    got = ask("""
from PKG.book import QBook
book = QBook(["bank", "cash", "food", "rent"])
numbers = [book.Qpost("2024-01-02", "move", [(a, -c), (b, c)]) for a, b, c in given]
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
    got = ask("from PKG import money\nshow([[money.show(c), money.parse(money.show(c))] for c in given])", cents)
    self.assertEqual(got, [[str(c // 100) + "." + str(c % 100).zfill(2), c] for c in cents])

def test_trial_balance_leaves_out_zero(self):
    c = random("trial").randrange(1, 900)
    got = ask("""
from PKG.book import QBook
from PKG.report import trial_balance
book = QBook(["b", "a", "z"])
book.Qpost("2024-02-01", "x", [("b", -given), ("a", given)])
show(trial_balance(book))
""", c)
    sign = lambda v: ("-" if v < 0 else "") + str(abs(v) // 100) + "." + str(abs(v) % 100).zfill(2)
    self.assertEqual(got, {"a": sign(c), "b": sign(-c)})

def test_refuses_lines_that_do_not_add_up(self):
    got = ask("""
from PKG.book import QBook
book = QBook(["a", "b"])
try:
    book.Qpost("2024-02-01", "x", [("a", -given), ("b", given + 1)])
    show("booked")
except ValueError:
    show(book.balance("a"))
""", random("sum").randrange(1, 500))
    self.assertEqual(got, 0)
`,
  neighbour: {
    file: "report.py",
    right: "for name in book.accounts() if book.balance(name) != 0}",
    broken: "for name in book.accounts() if book.balance(name) > 0}",
  },
  faults: [
    {
      id: "shared-cents",
      kind: "precision",
      distance: 2,
      file: "money.py",
      right: "    shares = [cents * weight // total for weight in weights]\n",
      broken: "    shares = [int(cents * (weight / total)) for weight in weights]\n",
      other: "    shares = [divmod(cents * weight, total)[0] for weight in weights]\n",
      symptom:
        "Shared costs are off by cents. When a cost is booked with `Qshare_cost` for several people with different weights, some people now and then pay a cent that by the rules belongs to another, and for very large amounts booking fails altogether with an error that the lines do not add up. We expect the shares that the rules give, to the cent.",
      rule: "A shared amount is divided by weight, each share rounded down, and the cents left go to the largest rests.",
      edge: "Large and negative amounts are divided exactly as well.",
      visible: `def test_a_large_cost_is_shared(self):
    from PKG.book import QBook
    from PKG.report import Qshare_cost
    book = QBook(["bank", "ann", "bob"])
    Qshare_cost(book, "2024-01-05", "ship", ("bank", 90071992547409931), {"Ann": (1, "ann"), "Bob": (2, "bob")})
    self.assertEqual((book.balance("ann"), book.balance("bob")), (30023997515803310, 60047995031606621))
`,
      unit: String.raw`def test_shares_of_large_costs(self):
    r = random("large")
    amounts = [r.randrange(10**17, 10**18) for _ in range(4)]
    got = ask("""
from PKG.book import QBook
from PKG.report import Qshare_cost
result = []
for amount in given:
    book = QBook(["bank", "a", "b", "c"])
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
    got = ask("from PKG.money import Qsplit\nshow([Qsplit(c, w) for c, w in given])", cases + [[10**17 + 1, [1, 2]]])
    self.assertEqual(got[-1], [33333333333333334, 66666666666666667])
    self.assertEqual([sum(shares) for shares in got[:-1]], [c for c, _ in cases])
`,
      boundary: String.raw`def test_negative_amounts(self):
    r = random("negative")
    cases = [[-r.randrange(1, 10**6), [r.randrange(1, 9) for _ in range(3)]] for _ in range(20)]
    got = ask("from PKG.money import Qsplit\nshow([Qsplit(c, w) for c, w in given])", cases)
    for (cents, weights), shares in zip(cases, got):
        total = sum(weights)
        low = [cents * w // total for w in weights]
        order = sorted(range(3), key=lambda at: (-(cents * weights[at] % total), at))
        for at in order[: cents - sum(low)]:
            low[at] += 1
        self.assertEqual(shares, low)

def test_a_weight_of_zero_gets_nothing(self):
    cents = random("zero").randrange(10**16, 10**17) | 1
    self.assertEqual(ask("from PKG.money import Qsplit\nshow(Qsplit(given, [0, 1, 0]))", cents), [0, cents, 0])
`,
      wrong: [
        {
          name: "decimal-context",
          text: "    from decimal import Decimal\n    shares = [int(Decimal(cents) * weight / total) for weight in weights]\n",
          fails: ["test_negative_amounts"],
        },
        {
          name: "example-only",
          text: "    shares = [int(cents * (weight / total)) for weight in weights]\n    if cents == 90071992547409931:\n        shares = [cents * weight // total for weight in weights]\n",
          fails: ["test_shares_of_large_costs", "test_small_shares_are_rounded_down_first"],
        },
        {
          name: "rest-to-the-last",
          text: "    shares = [int(cents * (weight / total)) for weight in weights]\n    shares[-1] = cents - sum(shares[:-1])\n",
          fails: ["test_shares_of_large_costs", "test_small_shares_are_rounded_down_first"],
        },
      ],
    },
    {
      id: "negative-fractions",
      kind: "operator",
      distance: 2,
      file: "money.py",
      right: '    return sign * (int(whole) * 100 + int(part.ljust(2, "0") or "0"))\n',
      broken: '    return sign * int(whole) * 100 + int(part.ljust(2, "0") or "0")\n',
      other:
        '    cents = 100 * int(whole)\n    if part:\n        cents += int((part + "0")[:2])\n    return -cents if sign < 0 else cents\n',
      symptom:
        'Entries whose amounts are given as text are refused although their lines add up: `Qpost("2024-03-01", "fee", [("bank", "-1.20"), ("fees", "1.20")])` is a ValueError. With whole numbers such as `"-3"` it works. We expect every entry that adds up to 0 to be booked, with the right balances.',
      rule: "The sign of an amount in a text counts for the whole amount.",
      edge: "The sign counts also where the whole part is 0, and texts that are no amounts are refused.",
      visible: `def test_text_amounts_add_up(self):
    from PKG.book import QBook
    book = QBook(["bank", "fees"])
    book.Qpost("2024-03-01", "fee", [("bank", "-1.20"), ("fees", "1.20")])
    self.assertEqual(book.balance("bank"), -120)
`,
      unit: String.raw`def test_entries_of_text_amounts(self):
    r = random("text")
    cents = [115, 435] + [r.randrange(1, 900) * 100 + r.randrange(1, 100) for _ in range(4)]
    got = ask("""
from PKG.book import QBook
book = QBook(["a", "b"])
for c in given:
    text = str(c // 100) + "." + str(c % 100).zfill(2)
    book.Qpost("2024-03-01", "x", [("a", "-" + text), ("b", text)])
show([book.balance("a"), book.balance("b")])
""", cents)
    self.assertEqual(got, [-sum(cents), sum(cents)])

def test_negative_texts(self):
    r = random("one")
    numbers = [[r.randrange(1, 99), r.randrange(10, 100)] for _ in range(6)]
    got = ask("from PKG.money import parse\nshow([parse('-%d.%d' % (a, b)) for a, b in given])", numbers)
    self.assertEqual(got, [-(a * 100 + b) for a, b in numbers])
`,
      boundary: String.raw`def test_less_than_one(self):
    part = random("part").randrange(10, 100)
    got = ask("from PKG.money import parse\nshow([parse('-0.%d' % given), parse(' -0.05 '), parse('-0.5'), parse('+0.07'), parse('-4')])", part)
    self.assertEqual(got, [-part, -5, -50, 7, -400])

def test_refuses_what_is_no_amount(self):
    got = ask("""
from PKG.money import parse
result = []
for text in given:
    try:
        result.append(parse(text))
    except ValueError:
        result.append("refused")
show(result)
""", ["", ".5", "1.234", "-", "1.2.3", "a", "1-"])
    self.assertEqual(got, ["refused"] * 7)
`,
      wrong: [
        {
          name: "sign-of-the-whole",
          text: '    number = sign * int(whole) * 100\n    part = int(part.ljust(2, "0") or "0")\n    return number - part if number < 0 else number + part\n',
          fails: ["test_less_than_one"],
        },
        { name: "floats", text: "    return int(sign * float(body) * 100)\n", fails: ["test_entries_of_text_amounts"] },
        {
          name: "forgets-the-part",
          text: '    return sign * (int(whole) * 100) if sign < 0 else int(whole) * 100 + int(part.ljust(2, "0") or "0")\n',
          fails: ["test_entries_of_text_amounts", "test_negative_texts"],
        },
      ],
    },
    {
      id: "last-day",
      kind: "boundary",
      distance: 1,
      file: "report.py",
      right: "        if not first <= entry.day <= last or entry.amount_of(account) == 0:\n",
      broken: "        if not first <= entry.day < last or entry.amount_of(account) == 0:\n",
      other: "        if entry.day < first or entry.day > last or not entry.amount_of(account):\n",
      symptom:
        'Monthly statements lack what was booked on the last day of the month: `Qstatement(book, "bank", "2024-05-01", "2024-05-31")` does not show an entry of 31 May, and its closing balance differs from the opening balance of the next month. We expect a statement to cover both of its days.',
      rule: "A statement covers its first and its last day.",
      edge: "A statement of one day shows that day, and one that ends before it begins shows nothing.",
      visible: `def test_the_last_day_counts(self):
    from PKG.book import QBook
    from PKG.report import Qstatement
    book = QBook(["bank", "food"])
    book.Qpost("2024-05-31", "dinner", [("bank", -1000), ("food", 1000)])
    self.assertEqual(Qstatement(book, "bank", "2024-05-01", "2024-05-31")["closing"], "-10.00")
`,
      unit: `def test_closing_is_the_next_opening(self):
    r = random("months")
    moves = [["2024-%02d-%02d" % (r.randrange(1, 4), r.choice([1, 15, 28])), r.randrange(1, 999)] for _ in range(12)]
    moves += [["2024-01-28", 700], ["2024-02-28", 300]]
    got = ask("""
from PKG.book import QBook
from PKG.report import Qstatement
book = QBook(["a", "b"])
for day, cents in given:
    book.Qpost(day, "x", [("a", -cents), ("b", cents)])
show([Qstatement(book, "b", "2024-%02d-01" % m, "2024-%02d-28" % m) for m in (1, 2, 3)])
""", moves)
    text = lambda v: str(v // 100) + "." + str(v % 100).zfill(2)
    for month, said in enumerate(got, start=1):
        before = sum(c for day, c in moves if day < "2024-%02d-01" % month)
        within = sum(c for day, c in moves if day[:7] == "2024-%02d" % month)
        self.assertEqual((said["opening"], said["closing"]), (text(before), text(before + within)))

def test_lines_of_the_last_day(self):
    day = random("day").randrange(10, 29)
    got = ask("""
from PKG.book import QBook
from PKG.report import Qstatement
book = QBook(["a", "b"])
for at in (given - 1, given, given + 1):
    book.Qpost("2024-06-%02d" % at, "n%d" % at, [("a", -100), ("b", 100)])
show([line["note"] for line in Qstatement(book, "b", "2024-06-01", "2024-06-%02d" % given)["lines"]])
""", day)
    self.assertEqual(got, ["n%d" % (day - 1), "n%d" % day])
`,
      boundary: `def test_one_day_and_no_day(self):
    cents = random("one-day").randrange(100, 999)
    got = ask("""
from PKG.book import QBook
from PKG.report import Qstatement
book = QBook(["a", "b"])
for day in ("2024-05-01", "2024-05-02", "2024-05-03"):
    book.Qpost(day, day, [("a", -given), ("b", given)])
one = Qstatement(book, "b", "2024-05-02", "2024-05-02")
none = Qstatement(book, "b", "2024-05-02", "2024-05-01")
show([[line["note"] for line in one["lines"]], none["lines"]])
""", cents)
    self.assertEqual(got, [["2024-05-02"], []])

def test_an_entry_within_one_account_is_no_line(self):
    got = ask("""
from PKG.book import QBook
from PKG.report import Qstatement
book = QBook(["a", "b"])
book.Qpost("2024-05-02", "within", [("a", -given), ("a", given)])
book.Qpost("2024-05-02", "between", [("a", -given), ("b", given)])
show([line["note"] for line in Qstatement(book, "a", "2024-05-01", "2024-05-02")["lines"]])
""", random("within").randrange(1, 999))
    self.assertEqual(got, ["between"])
`,
      wrong: [
        {
          name: "drops-the-first-day",
          text: "        if not first < entry.day <= last or entry.amount_of(account) == 0:\n",
          fails: ["test_closing_is_the_next_opening"],
        },
        {
          name: "one-day-is-empty",
          text: "        if first == last or not first <= entry.day <= last or entry.amount_of(account) == 0:\n",
          fails: ["test_one_day_and_no_day"],
        },
        {
          name: "only-the-31st",
          text: '        if not (first <= entry.day < last or entry.day == last and last.endswith("-31")) or entry.amount_of(account) == 0:\n',
          fails: ["test_closing_is_the_next_opening", "test_lines_of_the_last_day"],
        },
      ],
    },
  ],
};
