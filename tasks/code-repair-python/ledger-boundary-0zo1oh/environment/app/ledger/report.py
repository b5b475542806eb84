"""What a book says about a span of days."""
from ledger.money import apportion, show


def statement(book, account, first, last):
    """Opening balance, lines and closing balance of an account over days, both ends included."""
    book.balance(account)
    opening = sum(entry.amount_of(account) for entry in book.entries() if entry.day < first)
    running = opening
    lines = []
    for entry in book.entries():
        if not first <= entry.day < last or entry.amount_of(account) == 0:
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
    shares = apportion(amount, [weight for weight, _ in people.values()])
    lines = [(account, -amount)] + [(owner, share) for (_, owner), share in zip(people.values(), shares)]
    return book.record(day, note, lines)
