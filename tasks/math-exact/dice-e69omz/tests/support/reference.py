"""Solves an instance, and draws others."""

from functools import lru_cache
from math import gcd, prod


def solve(text):
    least, *faces = map(int, text.split())

    @lru_cache(None)
    def hits(index, need):
        if index == len(faces):
            return int(need <= 0)
        return sum(hits(index + 1, need - shown) for shown in range(1, faces[index] + 1))

    p, q = hits(0, least), prod(faces)
    return f"{p // gcd(p, q)}/{q // gcd(p, q)}"


DEGENERATE = ["0\n\n", "1\n\n", "-3\n6 6\n", "13\n6 6\n", "2\n6 6\n", "12\n6 6\n", "3\n1 1 1\n", "4\n1 1 1\n", "7\n6 6\n"]


def draw(r):
    faces = [r.randrange(2, 16) for _ in range(r.randrange(4, 12))]
    return f"{sum(faces) // 2 + r.randrange(-4, 9)}\n{' '.join(map(str, faces))}\n"
