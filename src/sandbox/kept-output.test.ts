/** Output of many small pieces is kept whole, in order, and in few objects. */
import { expect, test } from "vitest";
import { KeptOutput } from "./kept-output.ts";

test("a command that writes byte by byte costs few objects, and no byte is lost or moved within its stream", () => {
  const output = new KeptOutput();
  const expected: Record<number, number[]> = { 1: [], 2: [] };
  for (let at = 0; at < 100_000; at += 1) {
    const stream = 1 + ((at * 7) % 3 === 0 ? 1 : 0);
    output.add(stream, Buffer.from([at % 251]));
    expected[stream]?.push(at % 251);
  }
  expect(output.bytes).toBe(100_000);
  for (const stream of [1, 2]) expect(output.of(stream).equals(Buffer.from(expected[stream] ?? []))).toBe(true);
  expect(output.pieces.length).toBeLessThan(2_000);
});

test("streams that take turns slowly keep their order to each other", () => {
  const output = new KeptOutput();
  for (const [stream, word] of [
    [1, "a"],
    [2, "b"],
    [1, "c"],
  ] as const)
    output.add(stream, Buffer.from(word));
  expect(output.pieces.map(({ stream, bytes }) => `${stream}${bytes.toString()}`)).toEqual(["1a", "2b", "1c"]);
});
