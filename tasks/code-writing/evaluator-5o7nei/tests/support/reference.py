"""What is right, and random arguments."""

POWER_FROM_RIGHT = False
FLOOR = False
MINUS_FIRST = True

import re


def evaluate(text):
    words = re.findall(r"[0-9]+|[^ ]", text) + [""]
    place = 0

    def take():
        nonlocal place
        place += 1
        return words[place - 1]

    def total():
        value = product()
        while words[place] in ("+", "-"):
            value = value + product() if take() == "+" else value - product()
        return value

    def product():
        value = signed()
        while words[place] in ("*", "/"):
            if take() == "*":
                value *= signed()
            else:
                below = signed()
                quotient = abs(value) // abs(below)
                value = value // below if FLOOR else quotient if (value < 0) == (below < 0) else -quotient
        return value

    def signed():
        if words[place] == "-" and not MINUS_FIRST:
            take()
            return -signed()
        return power()

    def power():
        value = operand()
        while words[place] == "^":
            take()
            value = value ** (power() if POWER_FROM_RIGHT else operand())
        return value

    def operand():
        word = take()
        if word == "-":
            return -operand()
        if word == "(":
            value = total()
            take()
            return value
        return int(word)

    try:
        return total()
    except ZeroDivisionError:
        return None



def draw(r):
    def one(depth):
        kind = r.randrange(7 if depth else 1)
        if kind == 0:
            return str(r.randrange(1, 20))
        if kind == 1:
            return f"({one(depth - 1)})"
        if kind == 2:
            return f"-{r.randrange(1, 9)}"
        if kind == 3:
            return f"{r.choice(['', '-'])}{r.randrange(1, 4)}^{r.randrange(3)}^{r.randrange(3)}"
        return f"{one(depth - 1)} {r.choice('+-*/')} {one(depth - 1)}"

    return [one(4)]
