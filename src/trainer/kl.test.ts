import fc from "fast-check";
import { expect, test } from "vitest";
import { k1, k3, klCoefficient, meanKl } from "./kl.ts";

test("the estimators have their textbook values", () => {
  expect(k1(-1, -1.5)).toBeCloseTo(0.5, 12);
  expect(k3(-1, -1.5)).toBeCloseTo(Math.exp(-0.5) - 1 + 0.5, 12);
  expect(k3(-1, -1)).toBe(0);
});

test("an impossible token cannot make a metric infinite", () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true }), fc.float({ noNaN: true }), (logprob, reference) => {
      fc.pre(Number.isFinite(logprob - reference));
      expect(Math.abs(k1(logprob, reference))).toBeLessThanOrEqual(20);
      expect(k3(logprob, reference)).toBeGreaterThanOrEqual(0);
      expect(k3(logprob, reference)).toBeLessThanOrEqual(10);
    }),
  );
});

test("a policy above its reference is pulled down, one below is pulled up", () => {
  expect(klCoefficient(-1, -3, 0.1, 0.5)).toBeCloseTo(-0.1, 12);
  expect(klCoefficient(-3, -1, 0.1, 0.5)).toBeCloseTo(0.1, 12);
});

test("the mean is over trained tokens only, and absent without them", () => {
  const logprobs = Float32Array.of(9, -1, -2);
  const reference = Float32Array.of(0, -2, -2);
  expect(meanKl([{ mask: Uint8Array.of(0, 1, 1), logprobs, reference }])).toMatchObject({ k1: 0.5, tokens: 2 });
  expect(meanKl([{ mask: Uint8Array.of(0, 0, 0), logprobs, reference }])).toBeNull();
});
