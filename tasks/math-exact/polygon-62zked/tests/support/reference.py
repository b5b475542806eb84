"""Solves an instance, and draws others."""

from fractions import Fraction
from math import gcd, lcm


def solve(text):
    n, *words = text.split()
    numbers = [Fraction(word) for word in words]
    scale = lcm(*(number.denominator for number in numbers)) if numbers else 1
    flat = [int(number * scale) for number in numbers]
    twice = 0
    for i in range(0, len(flat), 2):
        x, y, u, v = flat[i], flat[i + 1], flat[(i + 2) % len(flat)], flat[(i + 3) % len(flat)]
        twice += (u - x) * (y + v)
    p, q = abs(twice), 2 * scale * scale
    return f"{p // gcd(p, q)}/{q // gcd(p, q)}"


DEGENERATE = ["0\n", "1\n3 4\n", "2\n0 0\n5 5\n", "3\n0 0\n1 1\n2 2\n", "4\n0 0\n0 2\n2 2\n2 0\n", "4\n0 0\n2 0\n2 2\n0 2\n", "5\n0 0\n0 0\n1 0\n1 1/3\n0 1\n", "3\n-1/2 -1/2\n0 5\n3 -1\n"]


def draw(r):
    # A star around the origin: rays of growing slope, so no two sides cross.
    rays = [(5, 1), (2, 3), (-1, 6), (-4, 3), (-5, -2), (-1, -5), (3, -4)]
    corners = []
    for x, y in rays:
        p, q = r.randrange(1, 50), r.randrange(1, 20)
        corners.append(f"{x * p}/{q} {y * p}/{q}")
    if r.random() < 0.5:
        corners.reverse()
    return "\n".join(["7", *corners]) + "\n"
