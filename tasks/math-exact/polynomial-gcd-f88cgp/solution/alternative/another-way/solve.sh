set -e
cat > /app/solve.py <<'PROGRAM'
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


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
-336 -768 -4 872 324 -230 -110
-768 -504 8 -726 -230 390 150
INSTANCE
