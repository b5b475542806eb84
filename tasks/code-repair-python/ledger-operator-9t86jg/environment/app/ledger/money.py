"""Amounts of money are whole cents. Texts have two decimals: "12.50", "-0.05"."""


def parse(text):
    """Whole cents of a text such as "12", "12.5", "12.50" or "-0.05". Anything else is a ValueError."""
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body.lstrip("+-") if body[:1] in ("+", "-") else body
    whole, dot, part = body.partition(".")
    if not whole.isdigit() or (dot and not (part.isdigit() and len(part) <= 2)):
        raise ValueError("not an amount: " + repr(text))
    return sign * int(whole) * 100 + int(part.ljust(2, "0") or "0")


def show(cents):
    """The text of an amount, always with two decimals."""
    sign = "-" if cents < 0 else ""
    whole, part = divmod(abs(cents), 100)
    return sign + str(whole) + "." + str(part).zfill(2)


def divide(cents, weights):
    """Shares of an amount in proportion to whole weights; they add up to the amount exactly."""
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise ValueError("weights must not be negative, and one must be above 0")
    shares = [int(cents * (weight / total)) for weight in weights]
    left = cents - sum(shares)
    order = sorted(range(len(weights)), key=lambda at: (-(cents * weights[at] % total), at))
    for at in order[:left]:
        shares[at] += 1
    return shares
