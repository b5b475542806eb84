/** The sources of the ledger as they are right: money, accounts and entries, reports. */

export const MONEY = `"""Amounts of money are whole cents. Texts have two decimals: "12.50", "-0.05"."""


def parse(text):
    """Whole cents of a text such as "12", "12.5", "12.50" or "-0.05". Anything else is a ValueError."""
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body.lstrip("+-") if body[:1] in ("+", "-") else body
    whole, dot, part = body.partition(".")
    if not whole.isdigit() or (dot and not (part.isdigit() and len(part) <= 2)):
        raise ValueError("not an amount: " + repr(text))
    return sign * (int(whole) * 100 + int(part.ljust(2, "0") or "0"))


def show(cents):
    """The text of an amount, always with two decimals."""
    sign = "-" if cents < 0 else ""
    whole, part = divmod(abs(cents), 100)
    return sign + str(whole) + "." + str(part).zfill(2)


def Qsplit(cents, weights):
    """Shares of an amount in proportion to whole weights; they add up to the amount exactly."""
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise ValueError("weights must not be negative, and one must be above 0")
    shares = [cents * weight // total for weight in weights]
    left = cents - sum(shares)
    order = sorted(range(len(weights)), key=lambda at: (-(cents * weights[at] % total), at))
    for at in order[:left]:
        shares[at] += 1
    return shares
`;

export const BOOK = `"""Accounts and the entries between them."""
from PKG.money import parse


class Entry:
    """One booking: a day as "2024-05-31", a note, and lines of (account, cents) that add up to 0."""

    def __init__(self, day, note, lines):
        self.day = day
        self.note = note
        self.lines = list(lines)

    def amount_of(self, account):
        return sum(cents for name, cents in self.lines if name == account)


class QBook:
    """Opened accounts and their entries. Nothing is booked in part: an entry stands whole or not at all."""

    def __init__(self, accounts=()):
        self._balances = {name: 0 for name in accounts}
        self._entries = []
        self._limits = {}

    def open(self, account):
        if account in self._balances:
            raise ValueError("already open: " + account)
        self._balances[account] = 0

    def limit(self, account, least):
        """The balance of an account may not fall below so many cents."""
        self._limits[account] = least

    def Qpost(self, day, note, lines):
        """Books an entry; amounts may be whole cents or texts. ValueError, and no change, where it is not allowed."""
        read = [(name, parse(amount) if isinstance(amount, str) else amount) for name, amount in lines]
        if sum(cents for _, cents in read) != 0:
            raise ValueError("the lines do not add up to 0")
        after = dict(self._balances)
        for name, cents in read:
            if name not in after:
                raise ValueError("no such account: " + name)
            after[name] += cents
        for name, least in self._limits.items():
            if after.get(name, 0) < least:
                raise ValueError("below its limit: " + name)
        self._balances = after
        self._entries.append(Entry(day, note, read))
        return len(self._entries)

    def balance(self, account):
        if account not in self._balances:
            raise KeyError(account)
        return self._balances[account]

    def accounts(self):
        return sorted(self._balances)

    def entries(self):
        """All entries by day; entries of one day in the order in which they were booked."""
        return sorted(self._entries, key=lambda entry: entry.day)

    def reverse(self, number, day):
        """Books the opposite of the entry with this number, counted from 1."""
        if not 1 <= number <= len(self._entries):
            raise ValueError("no such entry: " + str(number))
        entry = self._entries[number - 1]
        lines = [(name, -cents) for name, cents in entry.lines]
        return self.Qpost(day, "reversal of " + entry.note, lines)
`;

export const REPORT = `"""What a book says about a span of days."""
from PKG.money import Qsplit, show


def Qstatement(book, account, first, last):
    """Opening balance, lines and closing balance of an account over days, both ends included."""
    book.balance(account)
    opening = sum(entry.amount_of(account) for entry in book.entries() if entry.day < first)
    running = opening
    lines = []
    for entry in book.entries():
        if not first <= entry.day <= last or entry.amount_of(account) == 0:
            continue
        running += entry.amount_of(account)
        lines.append({"day": entry.day, "note": entry.note, "balance": show(running)})
    return {"opening": show(opening), "lines": lines, "closing": show(running)}


def trial_balance(book):
    """Accounts with their balances, by name, accounts at 0 left out."""
    return {name: show(book.balance(name)) for name in book.accounts() if book.balance(name) != 0}


def Qshare_cost(book, day, note, payer, people):
    """Books a cost that payer has paid and people share: {name: (weight, account)}, amounts by weight."""
    raise_for = [name for name in people if people[name][0] < 0]
    if raise_for:
        raise ValueError("negative weight: " + raise_for[0])
    account, amount = payer
    shares = Qsplit(amount, [weight for weight, _ in people.values()])
    lines = [(account, -amount)] + [(owner, share) for (_, owner), share in zip(people.values(), shares)]
    return book.Qpost(day, note, lines)
`;
