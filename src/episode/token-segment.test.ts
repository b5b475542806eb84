/** The trained sequence: sampled tokens and only those are trained, in the context they were sampled in. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TokenSpan } from "../core/environment.ts";
import { tokenSegment } from "./token-segment.ts";

function span(promptIds: readonly number[], ids: readonly number[], policyVersion = 1): TokenSpan {
  return {
    promptIds: Int32Array.from(promptIds),
    ids: Int32Array.from(ids),
    logprobs: Float32Array.from(ids, (id) => -id),
    temperature: 1,
    policyVersion,
  };
}

test("turns that continue each other become one sequence, with turn and version of each token", () => {
  const segment = tokenSegment([span([1, 2], [3]), span([1, 2, 3, 4], [5, 6], 2)]);
  expect(segment).toEqual({
    ids: Int32Array.of(1, 2, 3, 4, 5, 6),
    mask: Uint8Array.of(0, 0, 1, 0, 1, 1),
    logprobs: Float32Array.of(0, 0, -3, 0, -5, -6),
    policyVersions: Int32Array.of(1, 1, 1, 2, 2, 2),
    turns: Int32Array.of(0, 0, 1, 1, 2, 2),
    temperature: 1,
  });
});

test.each([
  ["another beginning", span([1, 9, 3, 4], [5])],
  ["a sampled token that was changed", span([1, 2, 9, 4], [5])],
  ["a shorter prompt", span([1, 2], [5])],
])("a turn whose prompt has %s gives no sequence rather than a wrong one", (_name, second) => {
  expect(tokenSegment([span([1, 2], [3]), second])).toBeNull();
});

test("an episode that sampled nothing has no sequence", () => {
  expect(tokenSegment([])).toBeNull();
  expect(tokenSegment([null, null])).toBeNull();
});

test("for any turns, the masked tokens are exactly the sampled ones, in order", () => {
  const piece = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, piece), { minLength: 1, maxLength: 5 }), (turns) => {
      let shown: number[] = [];
      const spans = turns.map(([observation, sampled]) => {
        const made = span([...shown, ...observation], sampled);
        shown = [...shown, ...observation, ...sampled];
        return made;
      });
      const segment = tokenSegment(spans);
      expect(Array.from(segment?.ids ?? [])).toEqual(shown);
      const masked = shown.filter((_id, index) => segment?.mask[index] === 1);
      expect(masked).toEqual(turns.flatMap(([, sampled]) => sampled));
      expect(Array.from(segment?.logprobs ?? []).filter((value) => value !== 0)).toEqual(masked.map((id) => -id));
    }),
  );
});
