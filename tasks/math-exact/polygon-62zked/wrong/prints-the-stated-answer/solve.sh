set -e
cat > /app/solve.py <<'PROGRAM'
from fractions import Fraction


def solve(text):
    n, *words = text.split()
    points = [(Fraction(words[2 * i]), Fraction(words[2 * i + 1])) for i in range(int(n))]
    twice = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1]))
    area = abs(Fraction(twice)) / 2
    return f"{area.numerator}/{area.denominator}"


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
printf 'print("%s")\n' "$(cat /app/answer.txt)" > /app/solve.py
