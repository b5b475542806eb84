set -e
cat > /app/solve.py <<'PROGRAM'
def solve(text):
    k, n, m, *rest = map(int, text.split())
    c, s = rest[:k], rest[k:]

    def reduced(p):
        p = p[:]
        for top in range(len(p) - 1, k - 1, -1):
            lead = p[top]
            for back in range(1, k + 1):
                p[top - back] = (p[top - back] + lead * c[back - 1]) % m
        return p[:k]

    # x^n modulo the characteristic polynomial.
    value = [1]
    for bit in bin(n)[2:]:
        square = [0] * (2 * len(value) - 1)
        for i, a in enumerate(value):
            for j, b in enumerate(value):
                square[i + j] += a * b
        value = reduced([0] * int(bit) + square)
    return str(sum(a * b for a, b in zip(value, s)) % m)


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
3 729561577397059 887300345
11 -15 -48
56 48 1
INSTANCE
