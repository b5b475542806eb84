set -e
cat > /app/solve.py <<'PROGRAM'
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


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
23
68 -67/7
-1 -49/5
4/3 176/5
8/3 29/9
19/3 40/7
23/3 54/2
32/3 283/6
36/3 144/4
42/3 162/3
50/3 300/2
60/3 335/9
66/3 113/3
75/3 349/5
82/3 365/8
87/3 346/8
91/3 92/4
103/3 289/4
109/3 46/5
114/3 60/9
120/3 396/2
128/3 149/6
133/3 20/9
140/3 155/6
INSTANCE
