import fc from "fast-check";
import { expect, test } from "vitest";
import type { BatchItem } from "../core/training.ts";
import { batchId } from "./batch.ts";

const items: readonly BatchItem[] = ["a", "b", "c", "d"].map((episodeId, index) => ({
  episodeId,
  groupId: index < 2 ? "g1" : "g2",
  reward: index / 4,
  advantage: index % 2 === 0 ? 0.5 : -0.5,
  policyVersion: 3,
  sequence: {
    tokens: Int32Array.of(1, 2, index),
    mask: Uint8Array.of(0, 1, 1),
    logprobs: Float32Array.of(0, -0.5, -index),
    temperature: 1,
  },
}));

test("the same trajectories are the same batch, in whatever order they arrived", () => {
  const id = batchId(items);
  fc.assert(
    fc.property(fc.shuffledSubarray([...items], { minLength: items.length }), (arrived) => {
      expect(batchId(arrived)).toBe(id);
    }),
  );
});

test.each<[string, (item: BatchItem) => BatchItem]>([
  ["token", (item) => ({ ...item, sequence: { ...item.sequence, tokens: Int32Array.of(1, 2, 9) } })],
  ["mask", (item) => ({ ...item, sequence: { ...item.sequence, mask: Uint8Array.of(0, 0, 1) } })],
  ["log-probability", (item) => ({ ...item, sequence: { ...item.sequence, logprobs: Float32Array.of(0, -1, 0) } })],
  ["temperature", (item) => ({ ...item, sequence: { ...item.sequence, temperature: 0.5 } })],
  ["reward", (item) => ({ ...item, reward: 0.9 })],
  ["advantage", (item) => ({ ...item, advantage: 0.9 })],
  ["policy version", (item) => ({ ...item, policyVersion: 4 })],
  ["group", (item) => ({ ...item, groupId: "g0" })],
  ["episode", (item) => ({ ...item, episodeId: "aa" })],
])("another %s is another batch", (_name, change) => {
  const [first, ...rest] = items;
  if (first === undefined) throw new Error("there are items");
  expect(batchId([change(first), ...rest])).not.toBe(batchId(items));
});
