cat > /app/solve.py <<'PROGRAM'
def solve(text):
    k, n, m, *rest = map(int, text.split())
    c, s = rest[:k], rest[k:]
    if n < k:
        return str(s[n] % m)

    def times(a, b):
        columns = list(zip(*b))
        return [[sum(x * y for x, y in zip(line, column)) % m for column in columns] for line in a]

    power = [c] + [[int(i == j) for j in range(k)] for i in range(k - 1)]
    state = [[value] for value in reversed(s)]
    n -= k - 2
    while n:
        if n & 1:
            state = times(power, state)
        power = times(power, power)
        n >>= 1
    return str(state[0][0])


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
3 729561577397059 887300345
11 -15 -48
56 48 1
INSTANCE
