set -e
cat > /app/solve.py <<'PROGRAM'
from fractions import Fraction


def trimmed(p):
    while p and p[-1] == 0:
        p.pop()
    return p


def solve(text):
    first, second = (text.split("\n") + ["", ""])[:2]
    a, b = (trimmed([Fraction(word) for word in line.split()]) for line in (first, second))
    while b:
        while len(a) >= len(b):
            factor, shift = a[-1] / b[-1], len(a) - len(b)
            for i, value in enumerate(b):
                a[i + shift] -= factor * value
            trimmed(a)
        a, b = b, a
    if not a:
        return "0/1"
    monic = [value / a[-1] for value in a]
    return " ".join(f"{value.numerator}/{value.denominator}" for value in monic)


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
-336 -768 -4 872 324 -230 -110
-768 -504 8 -726 -230 390 150
INSTANCE
