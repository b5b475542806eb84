import { expect, test } from "vitest";
import { sftCoefficients } from "./sft.ts";

test("every demonstrated token weighs the same, in long and short demonstrations, and nothing else trains", () => {
  const coefficients = sftCoefficients([{ mask: Uint8Array.of(0, 1) }, { mask: Uint8Array.of(0, 0, 1, 1, 1) }]);
  expect(coefficients).toEqual([Float32Array.of(0, 0.25), Float32Array.of(0, 0, 0.25, 0.25, 0.25)]);
});

test("a sequence without demonstrated tokens trains nothing", () => {
  expect(sftCoefficients([{ mask: Uint8Array.of(0, 0) }])).toEqual([Float32Array.of(0, 0)]);
});
