import fc from "fast-check";
import { expect, test } from "vitest";
import { deriveSeed, floatsFrom, randomFrom } from "./random.ts";

test("one more draw under one label does not shift the draws under another", () => {
  const first = randomFrom(7n);
  const before = first.fork("b").bits();
  first.fork("a").bits();
  first.bits();
  expect(first.fork("b").bits()).toBe(before);
});

test("seeds differ by the order, the kind and the borders of their parts", () => {
  const seeds = [
    deriveSeed("a", "b"),
    deriveSeed("b", "a"),
    deriveSeed("ab"),
    deriveSeed(1),
    deriveSeed("1"),
    deriveSeed(1n),
  ];
  expect(new Set(seeds).size).toBe(seeds.length);
});

test("integers keep within their bounds, both ends included", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.integer({ min: -50, max: 50 }),
      fc.nat(100),
      (seed, min, span) => {
        const value = randomFrom(seed).integer(min, min + span);
        expect(value >= min && value <= min + span && Number.isInteger(value)).toBe(true);
      },
    ),
  );
  const random = randomFrom(1n);
  expect(new Set(Array.from({ length: 200 }, () => random.integer(0, 3)))).toEqual(new Set([0, 1, 2, 3]));
});

test("a shuffle keeps every item, and is the same for the same seed", () => {
  const items = Array.from({ length: 30 }, (_, index) => index);
  const shuffled = randomFrom(3n).shuffle(items);
  expect([...shuffled].sort((a, b) => a - b)).toEqual(items);
  expect(shuffled).toEqual(randomFrom(3n).shuffle(items));
  expect(shuffled).not.toEqual(items);
});

test("fast numbers are uniform over [0, 1) and repeat for one seed", () => {
  const draw = floatsFrom(9n);
  const values = Array.from({ length: 20_000 }, () => draw());
  const again = floatsFrom(9n);
  expect(values.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => again()));
  const tenths = Array.from(
    { length: 10 },
    (_, tenth) => values.filter((value) => Math.floor(value * 10) === tenth).length,
  );
  // 20,000 draws in 10 bins: 2,000 each, standard deviation 42.
  for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(250);
});
