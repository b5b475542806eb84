"""Solves an instance, and draws others."""

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


DEGENERATE = ["2 0 7\n1 1\n-3 1\n", "2 1 10\n1 1\n0 25\n", "2 2 10\n1 1\n0 1\n", "1 5 1\n3\n4\n", "1 10 1000\n-2\n5\n", "3 3 100\n0 0 0\n7 8 9\n", "3 100 97\n0 0 1\n-1 -2 -3\n"]


def draw(r):
    k = r.randrange(1, 7)
    c = " ".join(str(r.randrange(-60, 61)) for _ in range(k))
    s = " ".join(str(r.randrange(-60, 61)) for _ in range(k))
    return f"{k} {r.randrange(10**15, 10**18)} {r.randrange(10**7, 10**9)}\n{c}\n{s}\n"
