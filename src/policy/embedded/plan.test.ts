/** The plan of a batch: every sequence once, balanced, and the same for the same batch. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { planBatch, rowsOf, splitBatch } from "./plan.ts";

const sequence = (length: number) => ({
  tokens: Int32Array.from({ length }, (_unused, index) => index),
  mask: new Uint8Array(length).fill(1).fill(0, 0, 1),
});

test("each sequence is computed once, in packs no product outgrows", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 96 }), { maxLength: 60 });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 4 }), (all, threads) => {
      const sequences = all.map(sequence);
      const plan = planBatch(sequences, threads, 256);
      expect([...plan.order].sort((a, b) => a - b)).toEqual(all.map((_length, index) => index));
      expect(plan.workerEnds.length).toBe(threads);
      expect(plan.workerEnds.at(-1)).toBe(plan.packEnds.length);
      let start = 0;
      for (const end of plan.packEnds) {
        const rows = [...plan.order.subarray(start, end)].map((index) => rowsOf(sequence(all[index] ?? 0)));
        expect(rows.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(256);
        start = end;
      }
      expect(splitBatch(plan, Float32Array.from(plan.tokens)).map((own) => own.length)).toEqual(all);
    }),
  );
});

test("the longest sequence goes first, to the least loaded worker, ties by index", () => {
  const plan = planBatch([3, 9, 5, 9, 2].map(sequence), 2, 256);
  expect([...plan.order]).toEqual([1, 2, 3, 0, 4]);
  expect([...plan.packEnds]).toEqual([2, 5]);
  expect([...plan.workerEnds]).toEqual([1, 2]);
});

test("tokens after the last trained one cost no row", () => {
  expect(rowsOf({ tokens: new Int32Array(9), mask: Uint8Array.of(0, 0, 1, 0, 1, 0, 0, 0, 0) })).toBe(4);
  expect(rowsOf({ tokens: new Int32Array(3), mask: new Uint8Array(3) })).toBe(0);
});
