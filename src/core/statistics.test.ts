import fc from "fast-check";
import { expect, test } from "vitest";
import { floatsFrom, randomFrom } from "./random.ts";
import { bootstrapInterval, passAtK, passRate, wilsonInterval } from "./statistics.ts";

test("Wilson's interval agrees with published values", () => {
  // Newcombe 1998, Statistics in Medicine 17:857, table I, method 3: 81 of 263 and 15 of 148.
  expect(wilsonInterval(81, 263).low).toBeCloseTo(0.2553, 4);
  expect(wilsonInterval(81, 263).high).toBeCloseTo(0.3662, 4);
  expect(wilsonInterval(15, 148).low).toBeCloseTo(0.0624, 4);
  expect(wilsonInterval(15, 148).high).toBeCloseTo(0.1605, 4);
});

test("an interval lies in [0, 1], holds the rate, and is exact at its ends", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (total, share) => {
      const { low, high, passRate: rate } = passRate(Math.round(total * share), total);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      expect(low).toBeLessThanOrEqual(rate);
      expect(high).toBeGreaterThanOrEqual(rate);
    }),
  );
  expect(wilsonInterval(0, 24).low).toBe(0);
  expect(wilsonInterval(24, 24).high).toBe(1);
  expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
});

test("pass@k is the chance that k of the samples hold a success", () => {
  expect(passAtK(4, 1, 1)).toBeCloseTo(0.25);
  expect(passAtK(4, 1, 2)).toBeCloseTo(0.5);
  expect(passAtK(5, 2, 3)).toBeCloseTo(1 - 1 / 10);
  expect(passAtK(4, 4, 1)).toBe(1);
  expect(() => passAtK(2, 1, 3)).toThrow("at least 3 samples");
});

test("a bootstrap interval is repeatable for one seed and holds the mean of a large sample", () => {
  const random = randomFrom(1n);
  const values = Array.from({ length: 400 }, () => (random.float() < 0.3 ? 1 : 0));
  const mean = values.reduce((sum: number, value) => sum + value, 0) / values.length;
  const draw = (seed: bigint) => bootstrapInterval(values, floatsFrom(seed));
  expect(draw(5n)).toEqual(draw(5n));
  expect(draw(5n).low).toBeLessThan(mean);
  expect(draw(5n).high).toBeGreaterThan(mean);
});
