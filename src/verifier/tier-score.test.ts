import fc from "fast-check";
import { expect, test } from "vitest";
import type { Tier } from "../core/task.ts";
import type { TestStatus } from "../core/verifier.ts";
import { tierScore } from "./tier-score.ts";

const base: Tier = { name: "unit", weight: 1, gate: false, threshold: 1, requires: [], visibility: "hidden" };

function results(tier: string, passed: number, failed: number): { tier: string; status: TestStatus }[] {
  return [
    ...Array.from({ length: passed }, () => ({ tier, status: "passed" as const })),
    ...Array.from({ length: failed }, () => ({ tier, status: "failed" as const })),
  ];
}

test("half of the tests of the only tier earn half", () => {
  const scored = tierScore([base], results("unit", 2, 2));
  expect(scored.total).toBe(0.5);
  expect(scored.scores).toEqual([
    { verifier: "match", name: "unit", value: 0.5, weight: 1, tier: "unit", visibility: "hidden", gate: false },
  ]);
});

test("tiers count by weight", () => {
  const tiers = [
    { ...base, weight: 3 },
    { ...base, name: "boundary", weight: 1 },
  ];
  const scored = tierScore(tiers, [...results("unit", 1, 0), ...results("boundary", 0, 5)]);
  expect(scored.total).toBe(0.75);
});

test("a gate below its threshold sets the whole score to 0", () => {
  const tiers = [
    { ...base, gate: true, threshold: 0.8 },
    { ...base, name: "boundary", weight: 9 },
  ];
  expect(tierScore(tiers, [...results("unit", 3, 1), ...results("boundary", 4, 0)]).total).toBe(0);
  const open = tierScore(tiers, [...results("unit", 4, 1), ...results("boundary", 4, 0)]);
  expect(open.total).toBeCloseTo((0.8 + 9) / 10, 12);
});

test("a required tier below its threshold withholds only the credit of the tier that requires it", () => {
  const tiers = [base, { ...base, name: "integration", requires: ["unit"] }];
  const scored = tierScore(tiers, [...results("unit", 3, 1), ...results("integration", 2, 0)]);
  expect(scored.total).toBeCloseTo(0.75 / 2, 12);
});

test("a visible tier earns nothing, whatever weight it declares", () => {
  const tiers = [base, { ...base, name: "example", weight: 5, visibility: "visible" as const }];
  const scored = tierScore(tiers, [...results("unit", 0, 1), ...results("example", 9, 0)]);
  expect(scored.total).toBe(0);
  expect(scored.scores[1]).toMatchObject({ value: 1, weight: 0 });
});

test("only a passed test counts", () => {
  for (const status of ["failed", "skipped", "error", "timeout", "missing"] as const) {
    expect(tierScore([base], [{ tier: "unit", status }]).total).toBe(0);
  }
});

test.each([
  ["a test of an undeclared tier", [base], results("other", 1, 0), /"other"/],
  [
    "a hidden tier without tests",
    [base, { ...base, name: "boundary" }],
    results("unit", 1, 0),
    /"boundary" has no test/,
  ],
  ["a requirement that is not declared", [{ ...base, requires: ["none"] }], results("unit", 1, 0), /requires "none"/],
  ["no weight at all", [{ ...base, weight: 0 }], results("unit", 1, 0), /weight above 0/],
])("%s is an invalid task, not a score", (_name, tiers, tests, message) => {
  expect(() => tierScore(tiers, tests)).toThrow(message);
});

const names = ["a", "b", "c", "d"];
const cases = fc
  .tuple(
    ...names.map((name, index) =>
      fc.record({
        name: fc.constant(name),
        weight: fc.double({ min: index === 0 ? 0.1 : 0, max: 5, noNaN: true }),
        gate: fc.boolean(),
        threshold: fc.double({ min: 0, max: 1, noNaN: true }),
        requires: fc.subarray(names.slice(0, index)),
        visibility: fc.constant(index === 0 ? ("hidden" as const) : ("visible" as const)),
        hidden: fc.boolean(),
        passed: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
      }),
    ),
  )
  .map((tiers) => ({
    tiers: tiers.map((tier): Tier => ({ ...tier, visibility: tier.hidden ? "hidden" : tier.visibility })),
    tests: tiers.flatMap((tier) =>
      tier.passed.map((passed) => ({ tier: tier.name, status: passed ? ("passed" as const) : ("failed" as const) })),
    ),
  }));

test("the score lies in [0, 1], and all passed earns exactly 1", () => {
  fc.assert(
    fc.property(cases, ({ tiers, tests }) => {
      const { total } = tierScore(tiers, tests);
      expect(total).toBeGreaterThanOrEqual(0);
      expect(total).toBeLessThanOrEqual(1);
      const all = tests.map((one) => ({ ...one, status: "passed" as const }));
      expect(tierScore(tiers, all).total).toBe(1);
    }),
  );
});

test("passing one more test never lowers the score", () => {
  fc.assert(
    fc.property(cases, fc.nat(), ({ tiers, tests }, pick) => {
      const before = tierScore(tiers, tests).total;
      const better = tests.map((one, index) =>
        index === pick % tests.length ? { ...one, status: "passed" as const } : one,
      );
      expect(tierScore(tiers, better).total).toBeGreaterThanOrEqual(before - 1e-12);
    }),
  );
});

test("a performance tier earns what was measured, and nothing with a wrong output or without a measure", () => {
  const speed: Tier = {
    name: "performance",
    runner: "performance",
    weight: 1,
    gate: false,
    threshold: 0.5,
    requires: [],
    visibility: "hidden",
  };
  const passed = [{ tier: "performance", status: "passed" as const }];
  const failed = [{ tier: "performance", status: "failed" as const }];
  const measures = [{ tier: "performance", score: 0.4 }];
  expect(tierScore([speed], passed, new Map(), measures).total).toBe(0.4);
  expect(tierScore([speed], failed, new Map(), measures).total).toBe(0);
  expect(tierScore([speed], passed, new Map(), []).total).toBe(0);
  expect(tierScore([speed], passed, new Map(), [{ tier: "other", score: 1 }]).total).toBe(0);
  for (const score of [Number.NaN, 1.5, -1, Number.POSITIVE_INFINITY])
    expect(tierScore([speed], passed, new Map(), [{ tier: "performance", score }]).total).toBe(0);
});
