import fc from "fast-check";
import { expect, test } from "vitest";
import { FRAME_KINDS, reportFrame, reportReader } from "./report-frames.ts";

const nonce = Buffer.alloc(32, 7);
const FORGERIES = 1_000;
const { begin, test: testKind, log, end } = FRAME_KINDS;
const passed = (id: string) => ({ id, status: "passed", durationMs: 1, detail: "" });

function report(): Uint8Array[] {
  return [
    reportFrame(nonce, 0, begin, { files: 1 }),
    reportFrame(nonce, 1, testKind, passed("unit/test_a.py::A.test_one")),
    reportFrame(nonce, 2, log, { text: "said" }),
    reportFrame(nonce, 3, end, { tests: 1 }),
  ];
}

function read(chunks: readonly Uint8Array[]) {
  const reader = reportReader(nonce);
  for (const chunk of chunks) reader.push(chunk);
  return reader.finish();
}

test("a whole report is read, however its bytes are cut", () => {
  const bytes = Buffer.concat(report());
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const chunks = at.slice(1).map((stop, index) => bytes.subarray(at[index], stop));
      expect(read(chunks)).toEqual({ tests: [passed("unit/test_a.py::A.test_one")], logs: ["said"] });
    }),
  );
});

test("changing, dropping, adding or cutting any bytes makes the whole report invalid: no forgery is accepted", () => {
  const bytes = Buffer.concat(report());
  const mutation = fc.oneof(
    fc.record({ at: fc.nat(bytes.length - 1), change: fc.integer({ min: 1, max: 255 }) }).map(({ at, change }) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ change;
      return copy;
    }),
    fc.nat(bytes.length - 1).map((keep) => bytes.subarray(0, keep)),
    fc
      .record({ at: fc.nat(bytes.length), added: fc.uint8Array({ minLength: 1, maxLength: 80 }) })
      .map(({ at, added }) => Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)])),
    fc.uint8Array({ maxLength: 300 }).map((noise) => Buffer.from(noise)),
  );
  fc.assert(
    fc.property(mutation, (forged) => {
      fc.pre(!bytes.equals(forged));
      expect(() => read([forged])).toThrow(expect.objectContaining({ code: "verifier_report_invalid" }));
    }),
    { numRuns: FORGERIES },
  );
});

test("a report signed by someone who does not know the nonce is invalid", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (guess) => {
      fc.pre(!Buffer.from(guess).equals(nonce));
      const forged = [reportFrame(guess, 0, begin, {}), reportFrame(guess, 1, end, { tests: 0 })];
      expect(() => read(forged)).toThrow(/wrong code/);
    }),
  );
});

const [first, second, third, last] = report();
const one = reportFrame(nonce, 1, testKind, passed("t"));
test.each([
  ["no frame", []],
  ["no end", [first, second, third]],
  ["a gap", [first, third, last]],
  ["a repeated frame", [first, second, second, third, last]],
  ["frames out of order", [first, third, second, last]],
  ["no begin", [reportFrame(nonce, 0, testKind, passed("t")), reportFrame(nonce, 1, end, { tests: 1 })]],
  ["a second begin", [first, reportFrame(nonce, 1, begin, {}), reportFrame(nonce, 2, end, { tests: 0 })]],
  ["a frame after end", [...report(), reportFrame(nonce, 4, testKind, passed("late"))]],
  [
    "a test reported twice",
    [first, one, reportFrame(nonce, 2, testKind, passed("t")), reportFrame(nonce, 3, end, { tests: 1 })],
  ],
  ["an end that counts other tests", [first, one, reportFrame(nonce, 2, end, { tests: 2 })]],
  ["an unknown status", [first, reportFrame(nonce, 1, testKind, { ...passed("t"), status: "great" })]],
  ["a negative duration", [first, reportFrame(nonce, 1, testKind, { ...passed("t"), durationMs: -1 })]],
  ["an unknown kind", [first, reportFrame(nonce, 1, 9, {}), reportFrame(nonce, 2, end, { tests: 0 })]],
  ["content that is no object", [first, reportFrame(nonce, 1, log, ["x"])]],
])("%s makes the report a verifier fault", (_name, chunks) => {
  const frames = chunks.filter((chunk) => chunk !== undefined);
  expect(() => read(frames)).toThrow(expect.objectContaining({ code: "verifier_report_invalid" }));
});
