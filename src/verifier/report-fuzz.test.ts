/**
 * Forgeries of a runner's report, made from real frames by someone who sees all bytes and knows all but the nonce. None
 * may be accepted: each ends as a verifier fault. A release is quoted at a million of them (`npm run test:long`).
 */
import { expect, test } from "vitest";
import { toFailure } from "../core/errors.ts";
import { randomFrom } from "../core/random.ts";
import { messageReader } from "./message-frames.ts";
import { FRAME_KINDS, reportFrame, reportReader } from "./report-frames.ts";

const FORGERIES = process.env["SANDLOT_TEST_SIZE"] === "long" ? 1_000_000 : 10_000;
const SEED = 20_261_201n;
const nonce = Buffer.alloc(32, 7);
const other = Buffer.alloc(32, 8);
const { begin, test: testKind, log, end } = FRAME_KINDS;
const told = (id: string, status: string) => ({ id, status, durationMs: 1, detail: "" });

/** What an honest runner writes of an agent that failed one test of two. */
const CONTENTS = [
  [begin, { files: 1 }],
  [testKind, told("unit/test_a.py::A.test_one", "passed")],
  [testKind, told("unit/test_a.py::A.test_two", "failed")],
  [log, { text: "said" }],
  [end, { tests: 2 }],
] as const;
const frames = CONTENTS.map(([kind, content], at) => Buffer.from(reportFrame(nonce, at, kind, content)));
const whole = Buffer.concat(frames);
/** The same words, and better ones, signed by someone else; and an earlier report of the true runner's. */
const forged = CONTENTS.map(([kind, content], at) => {
  const better = JSON.parse(JSON.stringify(content).replace("failed", "passed"));
  return Buffer.from(reportFrame(other, at, kind, better));
});

const random = randomFrom(SEED);
const { pick } = random;
const below = (bound: number): number => random.integer(0, bound - 1);
const noise = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, () => below(256)));

/** One change of a report, as bytes. */
const CHANGES: readonly (() => Buffer)[] = [
  function flip() {
    const copy = Buffer.from(whole);
    const at = below(copy.length);
    copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
    return copy;
  },
  function cut() {
    return whole.subarray(0, below(whole.length));
  },
  function insert() {
    const at = below(whole.length + 1);
    return Buffer.concat([whole.subarray(0, at), noise(1 + below(60)), whole.subarray(at)]);
  },
  function remove() {
    const at = below(whole.length);
    return Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1 + below(60))]);
  },
  function reorder() {
    return Buffer.concat(random.shuffle(frames));
  },
  function repeat() {
    const at = below(frames.length);
    return Buffer.concat(frames.flatMap((frame, index) => (index === at ? [frame, frame] : [frame])));
  },
  function drop() {
    const at = below(frames.length);
    return Buffer.concat(frames.filter((_frame, index) => index !== at));
  },
  function replace() {
    const at = below(frames.length);
    return Buffer.concat(frames.map((frame, index) => (index === at ? (forged[index] ?? frame) : frame)));
  },
  function rewrite() {
    return Buffer.from(
      whole.toString("latin1").replace(pick(["failed", "said", "test_two", "1"]), () => "passed"),
      "latin1",
    );
  },
  function renumber() {
    const copy = frames.map((frame) => Buffer.from(frame));
    copy[below(copy.length)]?.writeUInt32BE(below(8), 4);
    return Buffer.concat(copy);
  },
  function imitate() {
    const text = `${pick(["", "ok 1 - test_two\n", "PASSED\n"])}${JSON.stringify(told("unit/test_a.py::A.test_two", "passed"))}`;
    const head = Buffer.alloc(9);
    head.writeUInt32BE(5 + text.length + 32, 0);
    head.writeUInt32BE(below(6), 4);
    head.writeUInt8(pick([1, 2, 3, 4, 5]), 8);
    const made = Buffer.concat([head, Buffer.from(text), noise(32)]);
    const at = below(frames.length + 1);
    return Buffer.concat([...frames.slice(0, at), made, ...frames.slice(at)]);
  },
  function counterfeit() {
    return Buffer.concat(forged);
  },
  function junk() {
    return noise(below(400));
  },
  function after() {
    return Buffer.concat([whole, pick([noise(1 + below(99)), ...frames, ...forged])]);
  },
];

/** Read in pieces, as a pipe brings them. */
function accepts(bytes: Buffer): boolean {
  const reader = reportReader(nonce);
  for (let at = 0; at < bytes.length; ) {
    const next = at + 1 + below(300);
    reader.push(bytes.subarray(at, next));
    at = next;
  }
  try {
    reader.finish();
    return true;
  } catch (error) {
    expect(toFailure(error).code).toBe("verifier_report_invalid");
    return false;
  }
}

test(`of ${FORGERIES} forged reports none is accepted, and each is a verifier fault`, () => {
  expect(accepts(whole)).toBe(true);
  const made = Object.fromEntries(CHANGES.map((change) => [change.name, 0]));
  for (let left = FORGERIES; left > 0; left -= 1) {
    const change = pick(CHANGES);
    const bytes = change();
    if (whole.equals(bytes)) continue;
    if (accepts(bytes)) expect.fail(`${change.name} was accepted: ${bytes.toString("hex")}`);
    made[change.name] = (made[change.name] ?? 0) + 1;
  }
  expect(Object.values(made).every((count) => count > 0)).toBe(true);
});

test("a report whose runner was killed after any of its bytes is no report", () => {
  for (let length = 0; length < whole.length; length += 1) expect(accepts(whole.subarray(0, length))).toBe(false);
});

test("what is no request of the runner ends the grading as a verifier fault, and never asks the subject for anything", () => {
  for (let left = FORGERIES / 10; left > 0; left -= 1) {
    const reader = messageReader();
    try {
      const messages = reader.push(noise(below(200)));
      expect(messages.filter((message) => typeof message === "object")).toEqual([]);
    } catch (error) {
      expect(toFailure(error).code).toBe("verifier_report_invalid");
    }
  }
});
