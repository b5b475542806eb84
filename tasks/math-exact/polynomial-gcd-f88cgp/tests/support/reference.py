"""Solves an instance, and draws others."""

from fractions import Fraction
from math import gcd, lcm


def primitive(p):
    while p and p[-1] == 0:
        p = p[:-1]
    shared = gcd(*p) if p else 1
    return [value // shared for value in p]


def whole(line):
    numbers = [Fraction(word) for word in line.split()]
    scale = lcm(*(number.denominator for number in numbers)) if numbers else 1
    return primitive([int(number * scale) for number in numbers])


def solve(text):
    lines = text.split("\n") + ["", ""]
    a, b = whole(lines[0]), whole(lines[1])
    while b:
        rest = a
        while len(rest) >= len(b):
            shift = len(rest) - len(b)
            rest = primitive(
                [b[-1] * value - (rest[-1] * b[i - shift] if i >= shift else 0) for i, value in enumerate(rest)]
            )
        a, b = b, rest
    if not a:
        return "0/1"
    parts = [Fraction(value, a[-1]) for value in a]
    return " ".join(f"{part.numerator}/{part.denominator}" for part in parts)


DEGENERATE = ["0\n0\n", "2 4\n0\n", "0 0\n3 0 6 0\n", "1 1\n2 1\n", "2 3 1\n1 1\n", "1/2 1\n-1/4 0 1\n", "5\n7\n", "0 0 2\n0 3\n", "5\n0\n"]


def times(a, b):
    result = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return result


def draw(r):
    one = lambda degree: [r.randrange(-9, 10) for _ in range(degree)] + [r.randrange(1, 9)]
    shared, q = one(r.randrange(1, 4)), r.randrange(1, 6)
    lines = [times(shared, one(r.randrange(1, 4))) for _ in range(2)]
    return "\n".join(" ".join(f"{value}/{q}" for value in line) for line in lines) + "\n"
