/** Problems of exact fractions: determinants, polygons, continued fractions, polynomials. */
import { digits, type Problem, row } from "../problem.ts";

const FRACTION = "`p/q` in lowest terms with q at least 1, also for whole numbers, such as `-3/1` or `0/1`";

const determinant: Problem = {
  id: "determinant",
  title: "A determinant",
  statement: "Give the determinant of a square matrix of fractions, exactly.",
  format:
    "The first line holds n, at least 0. Each of the next n lines holds the n entries of one row, parted by one space, each a whole number or a fraction such as `-3/4`, not always in lowest terms.",
  answerForm: FRACTION,
  degenerate:
    "n may be 0, which gives `1/1`; the matrix may be singular; leading entries may be 0, so that rows have to be exchanged.",
  instance(random, size) {
    const n = 4 + size;
    const lines = Array.from({ length: n }, () =>
      row(n, () => random.integer(-30, 30)).replace(/(?<= )(-?\d+)$/, (last) => `${last}/${random.integer(2, 9)}`),
    );
    return [String(n), ...lines].join("\n");
  },
  oracle: `
from fractions import Fraction


def solve(text):
    words = text.split()
    n = int(words[0])
    rows = [[Fraction(word) for word in words[1 + i * n : 1 + i * n + n]] for i in range(n)]
    result = Fraction(1)
    for i in range(n):
        pivot = next((j for j in range(i, n) if rows[j][i] != 0), None)
        if pivot is None:
            return "0/1"
        if pivot != i:
            rows[i], rows[pivot] = rows[pivot], rows[i]
            result = -result
        result *= rows[i][i]
        for j in range(i + 1, n):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i])]
    return f"{result.numerator}/{result.denominator}"
`,
  other: `
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
`,
  twins: `
DEGENERATE = ["0\\n", "1\\n-6/4\\n", "2\\n0 1\\n1 0\\n", "2\\n1 2\\n2 4\\n", "3\\n0 0 1\\n0 1 0\\n1 0 0\\n", "2\\n0 0\\n0 0\\n", "3\\n0 2 1/2\\n3 0 1\\n1 1 1\\n"]


def draw(r):
    n = r.randrange(2, 8)
    entry = lambda: r.choice([str(r.randrange(-40, 41)), f"{r.randrange(-40, 41)}/{r.randrange(1, 13)}"])
    return "\\n".join([str(n), *(" ".join(entry() for _ in range(n)) for _ in range(n))]) + "\\n"
`,
  slips: [
    { name: "sign-of-exchange", from: "result = -result", to: "pass", fails: ["degenerate"] },
    { name: "adds-the-rows", from: "a - factor * b", to: "a + factor * b", fails: ["answer", "twins", "degenerate"] },
  ],
};

const polygon: Problem = {
  id: "polygon",
  title: "The area of a polygon",
  statement:
    "Give the area enclosed by a simple polygon whose corners have rational coordinates. The corners are listed in order, clockwise or anticlockwise, and the last is joined to the first.",
  format:
    "The first line holds n, at least 0. Each of the next n lines holds x and y of one corner, parted by one space, each a whole number or a fraction such as `-3/4`.",
  answerForm: `the area as ${FRACTION}; it is never negative`,
  degenerate: "Fewer than 3 corners enclose `0/1`; corners may lie on one line or repeat; the order may be clockwise.",
  instance(random, size) {
    const n = 5 + 4 * size;
    const top = Array.from(
      { length: n },
      (_, i) => `${i * 7 + random.integer(0, 5)}/${3} ${random.integer(1, 400)}/${random.integer(2, 9)}`,
    );
    return [String(n + 2), `${n * 3 + 5} ${-random.integer(1, 99)}/7`, `-1 ${-random.integer(1, 99)}/5`, ...top].join(
      "\n",
    );
  },
  oracle: `
from fractions import Fraction


def solve(text):
    n, *words = text.split()
    points = [(Fraction(words[2 * i]), Fraction(words[2 * i + 1])) for i in range(int(n))]
    twice = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1]))
    area = abs(Fraction(twice)) / 2
    return f"{area.numerator}/{area.denominator}"
`,
  other: `
from fractions import Fraction
from math import gcd, lcm


def solve(text):
    n, *words = text.split()
    numbers = [Fraction(word) for word in words]
    scale = lcm(*(number.denominator for number in numbers)) if numbers else 1
    flat = [int(number * scale) for number in numbers]
    twice = 0
    for i in range(0, len(flat), 2):
        x, y, u, v = flat[i], flat[i + 1], flat[(i + 2) % len(flat)], flat[(i + 3) % len(flat)]
        twice += (u - x) * (y + v)
    p, q = abs(twice), 2 * scale * scale
    return f"{p // gcd(p, q)}/{q // gcd(p, q)}"
`,
  twins: `
DEGENERATE = ["0\\n", "1\\n3 4\\n", "2\\n0 0\\n5 5\\n", "3\\n0 0\\n1 1\\n2 2\\n", "4\\n0 0\\n0 2\\n2 2\\n2 0\\n", "4\\n0 0\\n2 0\\n2 2\\n0 2\\n", "5\\n0 0\\n0 0\\n1 0\\n1 1/3\\n0 1\\n", "3\\n-1/2 -1/2\\n0 5\\n3 -1\\n"]


def draw(r):
    # A star around the origin: rays of growing slope, so no two sides cross.
    rays = [(5, 1), (2, 3), (-1, 6), (-4, 3), (-5, -2), (-1, -5), (3, -4)]
    corners = []
    for x, y in rays:
        p, q = r.randrange(1, 50), r.randrange(1, 20)
        corners.append(f"{x * p}/{q} {y * p}/{q}")
    if r.random() < 0.5:
        corners.reverse()
    return "\\n".join(["7", *corners]) + "\\n"
`,
  slips: [
    { name: "signed", from: "abs(Fraction(twice))", to: "Fraction(twice)", fails: ["answer", "degenerate"] },
    { name: "left-open", from: "points[1:] + points[:1]", to: "points[1:]", fails: ["answer", "twins", "degenerate"] },
  ],
};

const continued: Problem = {
  id: "continued-fraction",
  title: "A best approximation",
  statement:
    "Give the fraction closest to A/B among all fractions whose denominator, in lowest terms, is at least 1 and at most D. Where two are equally close, give the smaller one.",
  format:
    "One line holds A, B and D, parted by one space; A may be negative, B and D are at least 1. A/B need not be in lowest terms.",
  answerForm: FRACTION,
  degenerate:
    "D may be 1; A may be 0 or negative; A/B may itself have a denominator of at most D; two fractions may be equally close.",
  instance(random, size) {
    return `${digits(random, 18 + 4 * size)} ${digits(random, 17 + 4 * size)} ${digits(random, 6 + 2 * size)}`;
  },
  oracle: `
from fractions import Fraction


def solve(text):
    a, b, limit = map(int, text.split())
    aim = Fraction(a, b)
    # Two neighbours of the Stern-Brocot tree, moved many steps at once.
    floor = a // b
    low, high = (floor, 1), (floor + 1, 1)
    while aim > Fraction(*low):
        # As often as low + k*high stays at or below the aim and the limit.
        gap_low = aim * low[1] - low[0]
        gap_high = high[0] - aim * high[1]
        times = (limit - low[1]) // high[1]
        if gap_high > 0:
            times = min(times, gap_low // gap_high)
        low = (low[0] + times * high[0], low[1] + times * high[1])
        gap_low = aim * low[1] - low[0]
        if gap_low == 0:
            break
        more = min((limit - high[1]) // low[1], gap_high // gap_low)
        high = (high[0] + more * low[0], high[1] + more * low[1])
        if Fraction(*high) == aim:
            low = high
            break
        if times == more == 0:
            break
    best = min(Fraction(*low), Fraction(*high), key=lambda found: (abs(found - aim), found))
    return f"{best.numerator}/{best.denominator}"
`,
  other: `
from fractions import Fraction


def solve(text):
    a, b, limit = map(int, text.split())
    aim = Fraction(a, b)
    if aim.denominator <= limit:
        return f"{aim.numerator}/{aim.denominator}"
    # Convergents of the continued fraction; the best is the last one or its last semiconvergent.
    p0, q0, p1, q1 = 0, 1, 1, 0
    n, d = aim.numerator, aim.denominator
    while True:
        quotient = n // d
        if q0 + quotient * q1 > limit:
            break
        p0, q0, p1, q1 = p1, q1, p0 + quotient * p1, q0 + quotient * q1
        n, d = d, n - quotient * d
    k = (limit - q0) // q1
    found = [Fraction(p0 + k * p1, q0 + k * q1), Fraction(p1, q1)]
    best = min(found, key=lambda one: (abs(one - aim), one))
    return f"{best.numerator}/{best.denominator}"
`,
  twins: `
DEGENERATE = ["0 5 1\\n", "1 2 1\\n", "-1 2 1\\n", "7 3 1\\n", "-7 3 2\\n", "6 4 2\\n", "10 4 9\\n", "5 1 1\\n", "3 8 3\\n", "-22 7 100\\n"]


def draw(r):
    return f"{r.randrange(10**9, 10**14)} {r.randrange(10**9, 10**13)} {r.randrange(10**3, 10**8)}\\n"
`,
  slips: [
    {
      name: "larger-of-equals",
      from: "(abs(found - aim), found)",
      to: "(abs(found - aim), -found)",
      fails: ["degenerate"],
    },
    { name: "the-farther-one", from: "best = min(", to: "best = max(", fails: ["answer", "twins", "degenerate"] },
  ],
};

const polynomial: Problem = {
  id: "polynomial-gcd",
  title: "A common divisor of polynomials",
  statement:
    "Give the greatest common divisor of two polynomials with rational coefficients, made monic: its leading coefficient is 1.",
  format:
    "Two lines hold the coefficients of one polynomial each, from the constant term up to the highest power, parted by one space, each a whole number or a fraction such as `-3/4`. Highest coefficients may be 0.",
  answerForm:
    "the coefficients from the constant term up, parted by one space, each as `p/q` in lowest terms with q at least 1 (so the last is `1/1`), or `0/1` alone for the zero polynomial",
  degenerate:
    "One polynomial may be zero (`0`), then the answer is the other one made monic; both may be zero, which gives `0/1`; they may be coprime, which gives `1/1`; one may divide the other.",
  instance(random, size) {
    const product = (a: readonly bigint[], b: readonly bigint[]): bigint[] => {
      const result = Array.from({ length: a.length + b.length - 1 }, () => 0n);
      for (const [i, x] of a.entries()) for (const [j, y] of b.entries()) result[i + j] = (result[i + j] ?? 0n) + x * y;
      return result;
    };
    const draw = (degree: number) =>
      Array.from({ length: degree + 1 }, () => BigInt(random.integer(1, 40) * random.pick([-1, 1])));
    const shared = draw(2 + size);
    return [product(shared, draw(3)).join(" "), product(shared, draw(2 + size)).join(" ")].join("\n");
  },
  oracle: `
from fractions import Fraction


def trimmed(p):
    while p and p[-1] == 0:
        p.pop()
    return p


def solve(text):
    first, second = (text.split("\\n") + ["", ""])[:2]
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
`,
  other: `
from fractions import Fraction
from math import gcd, lcm


def primitive(p):
    while p and p[-1] == 0:
        p = p[:-1]
    shared = gcd(*p) if p else 1
    return [value // shared for value in p]


def whole(line):
    numbers = [Fraction(word) for word in line.split()]
    scale = lcm(*(number.denominator for number in numbers)) if numbers else 1
    return primitive([int(number * scale) for number in numbers])


def solve(text):
    lines = text.split("\\n") + ["", ""]
    a, b = whole(lines[0]), whole(lines[1])
    while b:
        rest = a
        while len(rest) >= len(b):
            shift = len(rest) - len(b)
            rest = primitive(
                [b[-1] * value - (rest[-1] * b[i - shift] if i >= shift else 0) for i, value in enumerate(rest)]
            )
        a, b = b, rest
    if not a:
        return "0/1"
    parts = [Fraction(value, a[-1]) for value in a]
    return " ".join(f"{part.numerator}/{part.denominator}" for part in parts)
`,
  twins: `
DEGENERATE = ["0\\n0\\n", "2 4\\n0\\n", "0 0\\n3 0 6 0\\n", "1 1\\n2 1\\n", "2 3 1\\n1 1\\n", "1/2 1\\n-1/4 0 1\\n", "5\\n7\\n", "0 0 2\\n0 3\\n", "5\\n0\\n"]


def times(a, b):
    result = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return result


def draw(r):
    one = lambda degree: [r.randrange(-9, 10) for _ in range(degree)] + [r.randrange(1, 9)]
    shared, q = one(r.randrange(1, 4)), r.randrange(1, 6)
    lines = [times(shared, one(r.randrange(1, 4))) for _ in range(2)]
    return "\\n".join(" ".join(f"{value}/{q}" for value in line) for line in lines) + "\\n"
`,
  slips: [
    {
      name: "not-monic",
      from: "value / a[-1] for value in a",
      to: "value for value in a",
      fails: ["answer", "twins", "degenerate"],
    },
    { name: "zero-forgotten", from: 'return "0/1"', to: 'return ""', fails: ["degenerate"] },
  ],
};

export const RATIONALS: readonly Problem[] = [determinant, polygon, continued, polynomial];
