/** Problems of counting: paths, recurrences, partitions, dice. */
import { digits, type Problem, row } from "../problem.ts";

const PRIME = 1_000_000_007;

const paths: Problem = {
  id: "lattice-paths",
  title: "Paths around obstacles",
  statement: `Count the paths on a grid from (0, 0) to (W, H) that move by one to the right or by one up in each step and pass through none of the given blocked points. Give the count modulo ${PRIME}.`,
  format:
    "The first line holds W, H and k, parted by one space, all at least 0. Each of the next k lines holds x and y of one blocked point.",
  answerForm: `the count modulo ${PRIME}, in decimal`,
  degenerate:
    "W and H may both be 0, which is one path; the start or the end may be blocked, which gives 0; blocked points may repeat or lie outside of the grid, where they change nothing.",
  instance(random, size) {
    const [w, h] = [60 * size + random.integer(10, 50), 60 * size + random.integer(10, 50)];
    const blocked = Array.from(
      { length: 4 + 4 * size },
      () => `${random.integer(1, w - 1)} ${random.integer(1, h - 1)}`,
    );
    return [`${w} ${h} ${blocked.length}`, ...blocked].join("\n");
  },
  oracle: `
def solve(text):
    w, h, k, *flat = map(int, text.split())
    blocked = {(flat[2 * i], flat[2 * i + 1]) for i in range(k)}
    column = [0] * (h + 1)
    for x in range(w + 1):
        for y in range(h + 1):
            if (x, y) in blocked:
                column[y] = 0
            elif x == y == 0:
                column[y] = 1
            elif y > 0:
                column[y] = (column[y] + column[y - 1]) % ${PRIME}
    return str(column[h])
`,
  other: `
from math import comb


def solve(text):
    w, h, k, *flat = map(int, text.split())
    points = {(flat[2 * i], flat[2 * i + 1]) for i in range(k)}
    points = sorted((x, y) for x, y in points if 0 <= x <= w and 0 <= y <= h)
    if (w, h) in points:
        return "0"
    points.append((w, h))
    reach = []
    for i, (x, y) in enumerate(points):
        count = comb(x + y, x)
        for (a, b), before in zip(points[:i], reach):
            if b <= y:
                count -= before * comb(x - a + y - b, x - a)
        reach.append(count)
    return str(reach[-1] % ${PRIME})
`,
  twins: `
DEGENERATE = ["0 0 0\\n", "0 0 1\\n0 0\\n", "3 2 1\\n0 0\\n", "3 2 1\\n3 2\\n", "4 4 2\\n2 2\\n2 2\\n", "4 4 2\\n9 9\\n-1 2\\n", "5 0 0\\n", "5 0 1\\n2 0\\n", "4 4 1\\n2 7\\n"]


def draw(r):
    w, h, k = r.randrange(5, 60), r.randrange(5, 60), r.randrange(1, 9)
    points = [f"{r.randrange(w)} {r.randrange(1, h)}" for _ in range(k)]
    return "\\n".join([f"{w} {h} {k}", *points]) + "\\n"
`,
  slips: [
    {
      name: "start-never-blocked",
      from: "(x, y) in blocked",
      to: "(x, y) in blocked and x + y > 0",
      fails: ["degenerate"],
    },
    {
      name: "steps-three-ways",
      from: "column[y] + column[y - 1]",
      to: "2 * column[y] + column[y - 1]",
      fails: ["answer", "twins", "degenerate"],
    },
  ],
};

const recurrence: Problem = {
  id: "recurrence",
  title: "A far term of a recurrence",
  statement:
    "A sequence begins with s(0), ..., s(k-1) and goes on by s(n) = c(1)*s(n-1) + c(2)*s(n-2) + ... + c(k)*s(n-k). Give s(N) modulo M, as a number from 0 to M - 1.",
  format:
    "The first line holds k, N and M, parted by one space; k and M are at least 1, N at least 0. The second line holds c(1) to c(k), the third s(0) to s(k-1); they may be negative. N may have 18 decimal digits.",
  answerForm: "the remainder in decimal",
  degenerate:
    "N may be smaller than k (also then the answer is taken modulo M, so a negative s gives a non-negative answer); M may be 1; k may be 1; coefficients may be 0.",
  instance(random, size) {
    const k = 2 + size;
    return `${k} ${digits(random, 15)} ${random.integer(100_000_000, 999_999_999)}\n${row(k, () => random.integer(-50, 50))}\n${row(k, () => random.integer(1, 99))}`;
  },
  oracle: `
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
    n -= k - 1
    while n:
        if n & 1:
            state = times(power, state)
        power = times(power, power)
        n >>= 1
    return str(state[0][0])
`,
  other: `
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
`,
  twins: `
DEGENERATE = ["2 0 7\\n1 1\\n-3 1\\n", "2 1 10\\n1 1\\n0 25\\n", "2 2 10\\n1 1\\n0 1\\n", "1 5 1\\n3\\n4\\n", "1 10 1000\\n-2\\n5\\n", "3 3 100\\n0 0 0\\n7 8 9\\n", "3 100 97\\n0 0 1\\n-1 -2 -3\\n"]


def draw(r):
    k = r.randrange(1, 7)
    c = " ".join(str(r.randrange(-60, 61)) for _ in range(k))
    s = " ".join(str(r.randrange(-60, 61)) for _ in range(k))
    return f"{k} {r.randrange(10**15, 10**18)} {r.randrange(10**7, 10**9)}\\n{c}\\n{s}\\n"
`,
  slips: [
    { name: "early-terms-bare", from: "s[n] % m", to: "s[n]", fails: ["degenerate"] },
    { name: "one-too-far", from: "n -= k - 1", to: "n -= k - 2", fails: ["answer", "twins", "degenerate"] },
  ],
};

const partitions: Problem = {
  id: "partitions",
  title: "Ways to pay",
  statement: `Count the ways to write N as a sum of the given values, where each listed value v may be used from 0 to u times. Two ways are the same where they use each listed value equally often. Give the count modulo ${PRIME}.`,
  format:
    "The first line holds N and k, parted by one space. Each of the next k lines holds v and u of one value; v is at least 1 and u at least 0. N is at most 3000, k at most 40.",
  answerForm: `the count modulo ${PRIME}, in decimal`,
  degenerate:
    "N may be 0, which is one way; k may be 0; u may be 0; the same v may be listed twice and then counts as two different values; v may be larger than N.",
  instance(random, size) {
    const k = 9 + 4 * size;
    const values = Array.from({ length: k }, () => `${random.integer(1, 12 + 6 * size)} ${random.integer(3, 30)}`);
    return [`${200 + 60 * size + random.integer(0, 60)} ${k}`, ...values].join("\n");
  },
  oracle: `
def solve(text):
    n, k, *flat = map(int, text.split())
    ways = [1] + [0] * n
    for i in range(k):
        v, u = flat[2 * i], flat[2 * i + 1]
        for total in range(v, n + 1):
            ways[total] += ways[total - v]
        for total in range(n, v * (u + 1) - 1, -1):
            ways[total] -= ways[total - v * (u + 1)]
        ways = [way % ${PRIME} for way in ways]
    return str(ways[n])
`,
  other: `
def solve(text):
    n, k, *flat = map(int, text.split())
    ways = {0: 1}
    for i in range(k):
        v, u = flat[2 * i], flat[2 * i + 1]
        fresh = {}
        for total, count in ways.items():
            for used in range(u + 1):
                after = total + v * used
                if after > n:
                    break
                fresh[after] = fresh.get(after, 0) + count
        ways = fresh
    return str(ways.get(n, 0) % ${PRIME})
`,
  twins: `
DEGENERATE = ["0 0\\n", "5 0\\n", "0 2\\n1 3\\n2 0\\n", "4 2\\n2 2\\n2 2\\n", "3 2\\n9 4\\n1 3\\n", "7 1\\n7 0\\n", "6 2\\n3 2\\n2 2\\n", "6 1\\n2 2\\n"]


def draw(r):
    k = r.randrange(10, 16)
    lines = [f"{r.randrange(1, 15)} {r.randrange(4, 16)}" for _ in range(k)]
    return "\\n".join([f"{r.randrange(100, 300)} {k}", *lines]) + "\\n"
`,
  slips: [
    { name: "without-limit", from: "v * (u + 1) - 1, -1", to: "n, -1", fails: ["answer", "twins", "degenerate"] },
    {
      name: "zero-is-no-way",
      from: "return str(ways[n])",
      to: "return str(ways[n] if n else 0)",
      fails: ["degenerate"],
    },
  ],
};

const dice: Problem = {
  id: "dice",
  title: "A sum of uneven dice",
  statement:
    "Each die shows the faces 1 to f with equal probability, all independently. Give the probability that the sum of all dice is at least T, as a reduced fraction.",
  format:
    "The first line holds T, which may be negative. The second line holds f for each die, parted by one space, each at least 1; it may be empty.",
  answerForm: "`p/q` in lowest terms with q at least 1, also for whole numbers: `0/1` and `1/1`",
  degenerate:
    "There may be no dice, whose sum is 0; T may be out of reach (`0/1`) or reached for certain (`1/1`); a die may have one face.",
  instance(random, size) {
    const faces = Array.from({ length: 6 + 3 * size }, () => random.integer(3, 20));
    const mean = faces.reduce((sum, face) => sum + (face + 1) / 2, 0);
    return `${Math.floor(mean) + random.integer(-5, 8)}\n${faces.join(" ")}`;
  },
  oracle: `
from fractions import Fraction


def solve(text):
    least, *faces = map(int, text.split())
    counts = {0: 1}
    for face in faces:
        fresh = {}
        for total, count in counts.items():
            for shown in range(1, face + 1):
                fresh[total + shown] = fresh.get(total + shown, 0) + count
        counts = fresh
    hits = sum(count for total, count in counts.items() if total >= least)
    chance = Fraction(hits, sum(counts.values()))
    return f"{chance.numerator}/{chance.denominator}"
`,
  other: `
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
`,
  twins: `
DEGENERATE = ["0\\n\\n", "1\\n\\n", "-3\\n6 6\\n", "13\\n6 6\\n", "2\\n6 6\\n", "12\\n6 6\\n", "3\\n1 1 1\\n", "4\\n1 1 1\\n", "7\\n6 6\\n"]


def draw(r):
    faces = [r.randrange(2, 16) for _ in range(r.randrange(4, 12))]
    return f"{sum(faces) // 2 + r.randrange(-4, 9)}\\n{' '.join(map(str, faces))}\\n"
`,
  slips: [
    { name: "strictly-above", from: "total >= least", to: "total > least", fails: ["answer", "twins", "degenerate"] },
    {
      name: "whole-numbers-bare",
      from: 'return f"',
      to: 'return str(chance) if chance in (0, 1) else f"',
      fails: ["degenerate"],
    },
  ],
};

export const COUNTING: readonly Problem[] = [paths, recurrence, partitions, dice];
