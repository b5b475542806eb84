/** Problems of whole numbers: congruences, divisibility, digits, Diophantine lines. */
import { digits, type Problem, row } from "../problem.ts";

const congruences: Problem = {
  id: "congruences",
  title: "A system of congruences",
  statement:
    "Find the smallest non-negative whole number x that leaves the remainder r when divided by m, for each of the given pairs (r, m). The moduli need not be coprime, and a remainder may be as large as its modulus or larger, or negative; then it is meant modulo m.",
  format:
    "The first line holds k, the number of pairs. Each of the next k lines holds r and m, parted by one space; m is at least 1.",
  answerForm: "x in decimal, or the word `none` where no such number exists",
  degenerate:
    "k may be 0, which gives 0; m may be 1; pairs may contradict each other, which gives `none`; remainders may be negative.",
  instance(random, size) {
    const x = digits(random, 8 + 6 * size);
    const pairs = Array.from({ length: 4 + 2 * size }, () => {
      const m = BigInt(random.integer(5_000, 99_999));
      return `${x % m} ${m}`;
    });
    return [String(pairs.length), ...pairs].join("\n");
  },
  oracle: `
from math import gcd


def solve(text):
    numbers = list(map(int, text.split()))
    x, step = 0, 1
    for index in range(numbers[0]):
        r, m = numbers[1 + 2 * index], numbers[2 + 2 * index]
        shared = gcd(step, m)
        if (r - x) % shared != 0:
            return "none"
        part = m // shared
        x += step * ((r - x) // shared * pow(step // shared, -1, part) % part)
        step *= part
    return str(x % step)
`,
  other: `
from math import lcm


def solve(text):
    numbers = list(map(int, text.split()))
    pairs = [(numbers[1 + 2 * i], numbers[2 + 2 * i]) for i in range(numbers[0])]
    x, step = 0, 1
    for r, m in pairs:
        for _ in range(m):
            if (x - r) % m == 0:
                break
            x += step
        else:
            return "none"
        step = lcm(step, m)
    return str(x)
`,
  twins: `
DEGENERATE = ["0\\n", "2\\n1 4\\n2 6\\n", "1\\n5 1\\n", "2\\n-1 6\\n5 9\\n", "2\\n-1 6\\n-1 10\\n", "2\\n17 6\\n29 12\\n"]


def draw(r):
    k = r.randrange(2, 8)
    x = r.randrange(10**12)
    pairs = []
    for _ in range(k):
        m = r.randrange(300, 9000)
        pairs.append(f"{x % m} {m}")
    return "\\n".join([str(k), *pairs]) + "\\n"
`,
  slips: [
    { name: "never-none", from: "if (r - x) % shared != 0:", to: "if False:", fails: ["degenerate"] },
    {
      name: "not-the-smallest",
      from: "str(x % step)",
      to: "str(x % step + step)",
      fails: ["answer", "twins", "degenerate"],
    },
  ],
};

const divisible: Problem = {
  id: "divisible",
  title: "Multiples of some of the numbers",
  statement:
    "Count the whole numbers from 1 to N, both included, that are divisible by at least one of the given numbers.",
  format:
    "The first line holds N. The second line holds the given numbers, parted by one space; each is at least 1, and it may be empty.",
  answerForm: "the count in decimal",
  degenerate:
    "N may be 0; the second line may be empty or missing, which gives 0; numbers may repeat, may be 1, and may be larger than N.",
  instance(random, size) {
    return `${digits(random, 14 + 3 * size)}\n${row(6 + 2 * size, () => random.integer(6, 90))}`;
  },
  oracle: `
from math import lcm


def solve(text):
    n, *given = map(int, text.split())
    signed = {}
    for number in given:
        added = {number: 1}
        for multiple, sign in signed.items():
            both = lcm(multiple, number)
            added[both] = added.get(both, 0) - sign
        for multiple, sign in added.items():
            signed[multiple] = signed.get(multiple, 0) + sign
        signed = {multiple: sign for multiple, sign in signed.items() if sign != 0 and multiple <= n}
    return str(sum(sign * (n // multiple) for multiple, sign in signed.items()))
`,
  other: `
from math import lcm


def solve(text):
    n, *given = map(int, text.split())
    given = sorted(set(given))
    given = [b for b in given if not any(a != b and b % a == 0 for a in given)]

    def missed(index, multiple):
        if multiple > n:
            return 0
        if index == len(given):
            return n // multiple
        return missed(index + 1, multiple) - missed(index + 1, lcm(multiple, given[index]))

    return str(n - missed(0, 1))
`,
  twins: `
DEGENERATE = ["0\\n2 3\\n", "10\\n\\n", "10\\n", "30\\n1 7\\n", "100\\n6 6 6 4\\n", "5\\n9 10\\n", "36\\n36\\n"]


def draw(r):
    given = [r.randrange(2, 60) for _ in range(r.randrange(2, 9))]
    return f"{r.randrange(10**9, 10**15)}\\n{' '.join(map(str, given))}\\n"
`,
  slips: [
    {
      name: "products-for-multiples",
      from: "both = lcm(multiple, number)",
      to: "both = multiple * number",
      fails: ["answer", "twins", "degenerate"],
    },
    { name: "end-left-out", from: "multiple <= n}", to: "multiple < n}", fails: ["degenerate"] },
  ],
};

const digitSums: Problem = {
  id: "digit-sums",
  title: "Digit sums in another base",
  statement:
    "Count the whole numbers from 0 to N, both included, whose digit sum in base B leaves the remainder R when divided by M.",
  format:
    "One line holds N, B, R and M, parted by one space, each in decimal; N is at least 0, B at least 2, M at least 1 and R from 0 to M - 1.",
  answerForm: "the count in decimal",
  degenerate: "N may be 0 (which counts 0 itself); M may be 1, so that all numbers count; B may be larger than N.",
  instance(random, size) {
    const m = random.integer(5, 8 + 4 * size);
    return `${digits(random, 12 + 6 * size)} ${random.integer(3, 36)} ${random.integer(1, m - 1)} ${m}`;
  },
  oracle: `
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
`,
  other: `
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
`,
  twins: `
DEGENERATE = ["0 2 0 1\\n", "0 10 0 5\\n", "0 10 3 5\\n", "999 10 0 1\\n", "5 100 2 3\\n", "1 2 1 2\\n", "8 3 0 2\\n"]


def draw(r):
    modulus = r.randrange(2, 12)
    return f"{r.randrange(10**6, 10**20)} {r.randrange(2, 30)} {r.randrange(modulus)} {modulus}\\n"
`,
  slips: [
    {
      name: "zero-forgotten",
      from: "below[wanted] + (edge == wanted)",
      to: "below[wanted] + (edge == wanted) - (wanted == 0)",
      fails: ["degenerate"],
    },
    {
      name: "one-digit-too-far",
      from: "range(digit)",
      to: "range(digit + 1)",
      fails: ["answer", "twins", "degenerate"],
    },
  ],
};

const line: Problem = {
  id: "diophantine",
  title: "Points of a line",
  statement: "Count the pairs (x, y) of whole numbers with 0 <= x <= X and 0 <= y <= Y for which a*x + b*y = c.",
  format:
    "One line holds a, b, c, X and Y, parted by one space; a and b are at least 1, X and Y at least 0, and c may be negative.",
  answerForm: "the count in decimal",
  degenerate: "c may be 0, negative, or no multiple of the greatest common divisor of a and b; X or Y may be 0.",
  instance(random, size) {
    const g = BigInt(random.integer(2, 90));
    const [a, b] = [BigInt(random.integer(100, 999)) * g, BigInt(random.integer(1_000, 4_999)) * g];
    const [x, y] = [digits(random, 13 + 3 * size), digits(random, 12 + 3 * size)];
    return `${a} ${b} ${a * x + b * y} ${x * 2n} ${y * 2n}`;
  },
  oracle: `
from math import gcd


def solve(text):
    a, b, c, x_max, y_max = map(int, text.split())
    shared = gcd(a, b)
    if c % shared != 0:
        return "0"
    a, b, c = a // shared, b // shared, c // shared
    x = c * pow(a, -1, b) % b
    y = (c - a * x) // b
    # All solutions: (x + k*b, y - k*a).
    least = max(0, -((y_max - y) // a))
    most = min((x_max - x) // b, y // a)
    return str(max(0, most - least + 1))
`,
  other: `
from math import gcd


def solve(text):
    a, b, c, x_max, y_max = map(int, text.split())
    shared = gcd(a, b)
    first = next((x for x in range(b // shared) if (c - a * x) % b == 0), None)
    if first is None:
        return "0"
    # x is bounded by its own range and by that of y.
    low = max(0, -((b * y_max - c) // a))
    high = min(x_max, c // a)
    step = b // shared
    upto = lambda n: 0 if n < first else (n - first) // step + 1
    return str(max(0, upto(high) - upto(low - 1)))
`,
  twins: `
DEGENERATE = ["3 5 0 9 9\\n", "3 5 -2 9 9\\n", "4 6 9 9 9\\n", "3 5 15 0 9\\n", "3 5 15 9 0\\n", "1 1 7 7 7\\n", "3 5 15 5 3\\n", "2 4 0 0 0\\n"]


def draw(r):
    g = r.randrange(1, 9)
    a, b = r.randrange(2, 900) * g, r.randrange(2, 900) * g
    x, y = r.randrange(10**8), r.randrange(10**8)
    return f"{a} {b} {a * x + b * y} {x + r.randrange(10**8)} {y + r.randrange(10**8)}\\n"
`,
  slips: [
    {
      name: "no-bound-on-y",
      from: "least = max(0, -((y_max - y) // a))",
      to: "least = 0",
      fails: ["twins", "degenerate"],
    },
    { name: "always-solvable", from: 'return "0"', to: "pass", fails: ["degenerate"] },
  ],
};

export const NUMBERS: readonly Problem[] = [congruences, divisible, digitSums, line];
