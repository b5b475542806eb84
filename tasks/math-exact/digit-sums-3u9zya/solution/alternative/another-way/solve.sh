set -e
cat > /app/solve.py <<'PROGRAM'
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


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
108616766017225585498476558416 8 1 11
INSTANCE
