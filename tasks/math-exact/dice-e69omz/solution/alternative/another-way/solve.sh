set -e
cat > /app/solve.py <<'PROGRAM'
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


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
63
3 10 12 19 9 6 14 10 20
INSTANCE
