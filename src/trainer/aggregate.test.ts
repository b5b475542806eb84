import { expect, test } from "vitest";
import { AGGREGATIONS, type Aggregation, tokenWeights } from "./aggregate.ts";

/** Two trajectories: a forks into 1 + 2 trained tokens, b has 1. N = 4, B = 2. */
const items = [
  { episodeId: "a", mask: Uint8Array.of(0, 1) },
  { episodeId: "a", mask: Uint8Array.of(0, 0, 1, 1) },
  { episodeId: "b", mask: Uint8Array.of(0, 1, 0) },
];

test.each<[Aggregation, number[]]>([
  ["token-mean", [1 / 4, 1 / 4, 1 / 4]],
  ["seq-mean-token-mean", [1 / 6, 1 / 6, 1 / 2]],
  ["seq-mean-token-sum", [1 / 2, 1 / 2, 1 / 2]],
  ["seq-mean-token-sum-norm", [1 / 20, 1 / 20, 1 / 20]],
  ["sum", [1, 1, 1]],
])("%s weighs each token as its definition says, also when a trajectory forks", (mode, weights) => {
  expect(tokenWeights(items, mode, 10)).toEqual(weights);
});

test.each(AGGREGATIONS)("%s gives a sequence without trained tokens no weight", (mode) => {
  expect(tokenWeights([{ episodeId: "a", mask: Uint8Array.of(0, 0) }], mode, 10)).toEqual([0]);
});

test("a constant-length mean without its length is refused by name", () => {
  expect(() => tokenWeights(items, "seq-mean-token-sum-norm", null)).toThrow(/needs lengthMax/);
});
