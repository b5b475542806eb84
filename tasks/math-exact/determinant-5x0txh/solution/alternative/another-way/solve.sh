set -e
cat > /app/solve.py <<'PROGRAM'
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


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
8
22 -6 30 6 -18 21 20 -1/4
-17 1 23 12 21 22 -4 -3/4
22 -12 -17 -10 4 27 25 30/2
-9 -23 12 -3 -1 25 9 24/4
18 15 20 3 -16 25 3 -17/9
14 11 -5 -29 5 -15 -4 0/2
-22 -10 -15 15 25 0 -12 -27/8
-23 8 -21 -5 -25 7 -13 6/8
INSTANCE
