"""Solves an instance, and draws others."""

from functools import lru_cache


def solve(text):
    n, base, wanted, modulus = map(int, text.split())

    @lru_cache(None)
    def full(length, rest):
        if length == 0:
            return int(rest == 0)
        return sum(full(length - 1, (rest - d) % modulus) for d in range(base))

    length = 0
    while base**length <= n + 1:
        length += 1
    total, end, rest = 0, n + 1, wanted
    for place in reversed(range(length)):
        digit, end = divmod(end, base**place)
        total += sum(full(place, (rest - d) % modulus) for d in range(digit))
        rest = (rest - digit) % modulus
    return str(total)


DEGENERATE = ["0 2 0 1\n", "0 10 0 5\n", "0 10 3 5\n", "999 10 0 1\n", "5 100 2 3\n", "1 2 1 2\n", "8 3 0 2\n"]


def draw(r):
    modulus = r.randrange(2, 12)
    return f"{r.randrange(10**6, 10**20)} {r.randrange(2, 30)} {r.randrange(modulus)} {modulus}\n"
