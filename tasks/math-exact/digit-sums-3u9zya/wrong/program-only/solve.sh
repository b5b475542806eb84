set -e
cat > /app/solve.py <<'PROGRAM'
def solve(text):
    n, base, wanted, modulus = map(int, text.split())
    digits = []
    while n:
        n, digit = divmod(n, base)
        digits.append(digit)
    below, edge = [0] * modulus, 0
    for digit in reversed(digits):
        fresh = [0] * modulus
        for rest, count in enumerate(below):
            for d in range(base):
                fresh[(rest + d) % modulus] += count
        for d in range(digit):
            fresh[(edge + d) % modulus] += 1
        below, edge = fresh, (edge + digit) % modulus
    return str(below[wanted] + (edge == wanted))


if __name__ == "__main__":
    import sys

    print(solve(sys.stdin.read()))
PROGRAM
python3 /app/solve.py > /app/answer.txt <<'INSTANCE'
108616766017225585498476558416 8 1 11
INSTANCE
rm /app/answer.txt
