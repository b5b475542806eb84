"""Solves an instance, and draws others."""

from fractions import Fraction


def solve(text):
    words = text.split()
    n = int(words[0])
    rows = [[Fraction(word) for word in words[1 + i * n : 1 + i * n + n]] for i in range(n)]
    # Laplace along the rows; minors by their set of columns.
    minors = {0: Fraction(1)}
    for line in rows:
        fresh = {}
        for columns, minor in minors.items():
            for j, value in enumerate(line):
                if value and minor and not columns >> j & 1:
                    later = bin(columns >> j).count("1")
                    key = columns | 1 << j
                    fresh[key] = fresh.get(key, 0) + (-1) ** later * value * minor
        minors = fresh
    result = Fraction(minors.get(2**n - 1, 0))
    return f"{result.numerator}/{result.denominator}"


DEGENERATE = ["0\n", "1\n-6/4\n", "2\n0 1\n1 0\n", "2\n1 2\n2 4\n", "3\n0 0 1\n0 1 0\n1 0 0\n", "2\n0 0\n0 0\n", "3\n0 2 1/2\n3 0 1\n1 1 1\n"]


def draw(r):
    n = r.randrange(2, 8)
    entry = lambda: r.choice([str(r.randrange(-40, 41)), f"{r.randrange(-40, 41)}/{r.randrange(1, 13)}"])
    return "\n".join([str(n), *(" ".join(entry() for _ in range(n)) for _ in range(n))]) + "\n"
