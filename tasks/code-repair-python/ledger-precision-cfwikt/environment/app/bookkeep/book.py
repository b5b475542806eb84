"""Accounts and the entries between them."""
from bookkeep.money import parse


class Entry:
    """One booking: a day as "2024-05-31", a note, and lines of (account, cents) that add up to 0."""

    def __init__(self, day, note, lines):
        self.day = day
        self.note = note
        self.lines = list(lines)

    def amount_of(self, account):
        return sum(cents for name, cents in self.lines if name == account)


class Ledger:
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

    def post(self, day, note, lines):
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
        return self.post(day, "reversal of " + entry.note, lines)
