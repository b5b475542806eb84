import fc from "fast-check";
import { expect, test } from "vitest";
import type { TokenSegment } from "../core/trajectory.ts";
import { checkSegment, parseSegment, segmentBytes } from "./segment.ts";

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const token = fc.record({
  id: fc.nat(2 ** 31 - 1),
  mask: fc.constantFrom(0, 1),
  logprob: fc.float({ noNaN: true, noDefaultInfinity: true }),
  policyVersion: int32,
  turn: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
});

const segments: fc.Arbitrary<TokenSegment> = fc
  .record({
    tokens: fc.array(token, { maxLength: 200 }),
    temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
  })
  .map(({ tokens, temperature }) => ({
    ids: Int32Array.from(tokens, ({ id }) => id),
    mask: Uint8Array.from(tokens, ({ mask }) => mask),
    logprobs: Float32Array.from(tokens, ({ mask, logprob }) => (mask === 1 ? logprob : 0)),
    policyVersions: Int32Array.from(tokens, ({ policyVersion }) => policyVersion),
    turns: Int32Array.from(tokens, ({ turn }) => turn),
    temperature,
  }));

test("tokens, masks and log-probabilities come back bit for bit", () => {
  fc.assert(
    fc.property(segments, (segment) => {
      checkSegment(segment, "episode", 2 ** 31 - 1);
      const read = parseSegment(segmentBytes(segment));
      expect(read).toEqual(segment);
      expect(Buffer.from(read.logprobs.buffer).equals(Buffer.from(segment.logprobs.buffer))).toBe(true);
    }),
  );
});

const good: TokenSegment = {
  ids: Int32Array.of(5, 6),
  mask: Uint8Array.of(0, 1),
  logprobs: Float32Array.of(0, -0.5),
  policyVersions: Int32Array.of(0, 1),
  turns: Int32Array.of(0, 1),
  temperature: 1,
};

test.each<[string, Partial<TokenSegment>, RegExp]>([
  ["a mask that is too short", { mask: Uint8Array.of(1) }, /column mask has 1 rows, ids has 2/],
  ["log-probabilities that are too long", { logprobs: Float32Array.of(0, 0, 0) }, /column logprobs has 3 rows/],
  ["a sampled token without log-probability", { logprobs: Float32Array.of(0, Number.NaN) }, /logprobs\[1\] is NaN/],
  [
    "an infinite log-probability",
    { logprobs: Float32Array.of(0, Number.NEGATIVE_INFINITY) },
    /logprobs\[1\] is -Infinity/,
  ],
  ["a log-probability on a token that was not sampled", { logprobs: Float32Array.of(-1, -1) }, /logprobs\[0\] is -1/],
  ["a mask that is no bit", { mask: Uint8Array.of(0, 2) }, /mask\[1\] is 2/],
  ["a negative token id", { ids: Int32Array.of(5, -1) }, /ids\[1\] is -1/],
  ["a sampled token before the first turn", { turns: Int32Array.of(0, 0) }, /turns\[1\] is 0/],
  ["a turn that was never taken", { turns: Int32Array.of(0, 2) }, /turns\[1\] is 2/],
  ["a temperature that is no number", { temperature: Number.NaN }, /temperature is NaN/],
])("%s is refused by name", (_title, change, message) => {
  expect(() => checkSegment({ ...good, ...change }, "episode 01-7", 1)).toThrow(message);
});

test("a good segment passes, and its bytes cut anywhere are refused", () => {
  checkSegment(good, "episode 01-7", 1);
  const bytes = segmentBytes(good);
  for (let length = 0; length < bytes.length; length += 1) {
    expect(() => parseSegment(bytes.subarray(0, length))).toThrow(/Token segment/);
  }
});
