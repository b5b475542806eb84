/**
 * Reads the report of a trusted runner: frames `length, sequence, kind, JSON, HMAC-SHA-256(nonce)`.
 *
 * A report counts as a whole or not at all: a gap, a repeat, a wrong code, malformed content, bytes after `end` or no
 * `end` make it invalid. Numbers are big-endian; the length covers all that follows it; the code covers all before it.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { Failure } from "../core/errors.ts";
import type { TestStatus } from "../core/verifier.ts";

export const FRAME_KINDS = { begin: 1, test: 2, log: 3, end: 4 } as const;

const FRAME_BYTES_MAX = 64 * 1024;
const REPORT_BYTES_MAX = 16 * 1024 * 1024;
const HEAD_BYTES = 9;
const CODE_BYTES = 32;
const DETAIL_CHARACTERS_MAX = 2_048;
const STATUSES: ReadonlySet<string> = new Set(["passed", "failed", "error", "skipped", "timeout"]);

export interface ReportedTest {
  readonly id: string;
  readonly status: Exclude<TestStatus, "missing">;
  readonly durationMs: number;
  readonly detail: string;
}

export interface Report {
  readonly tests: readonly ReportedTest[];
  /** What the runner noted beside the tests, for people. */
  readonly logs: readonly string[];
}

export interface ReportReader {
  /** Never throws; what is wrong is kept for `finish`. Returns false once the report cannot be valid any more. */
  push(bytes: Uint8Array): boolean;
  /** True when a valid `end` was the last thing read. */
  isComplete(): boolean;
  /** The report. Throws `verifier_report_invalid`, also when no `end` has come. */
  finish(): Report;
}

/** A reader of one report; `nonce` is the secret given to the runner. */
export function reportReader(nonce: Uint8Array): ReportReader {
  const tests = new Map<string, ReportedTest>();
  const logs: string[] = [];
  let rest = Buffer.alloc(0);
  let bytesRead = 0;
  let sequence = 0;
  let state: "new" | "begun" | "ended" = "new";
  let fault: string | null = null;

  const take = (kind: number, content: unknown): void => {
    if (state === "ended") throw new Error("a frame came after end");
    if ((kind === FRAME_KINDS.begin) !== (state === "new")) throw new Error("begin must come first, and once");
    if (!isRecord(content)) throw new Error("the content of a frame is no object");
    if (kind === FRAME_KINDS.begin) state = "begun";
    else if (kind === FRAME_KINDS.test) {
      const test = reportedTest(content);
      if (tests.has(test.id)) throw new Error(`the test ${JSON.stringify(test.id)} was reported twice`);
      tests.set(test.id, test);
    } else if (kind === FRAME_KINDS.log && typeof content["text"] === "string") {
      logs.push(content["text"].slice(0, DETAIL_CHARACTERS_MAX));
    } else if (kind === FRAME_KINDS.end) {
      if (content["tests"] !== tests.size) throw new Error("end names another number of tests than were reported");
      state = "ended";
    } else throw new Error(`a frame has the kind ${kind} or lacks its fields`);
  };

  const drain = (): void => {
    while (rest.length >= 4) {
      const length = rest.readUInt32BE(0);
      if (length < HEAD_BYTES - 4 + CODE_BYTES || length > FRAME_BYTES_MAX) throw new Error("a frame has a bad length");
      if (rest.length < 4 + length) return;
      const signed = rest.subarray(0, 4 + length - CODE_BYTES);
      const code = rest.subarray(4 + length - CODE_BYTES, 4 + length);
      if (!timingSafeEqual(code, createHmac("sha256", nonce).update(signed).digest())) {
        throw new Error("a frame has a wrong code");
      }
      if (rest.readUInt32BE(4) !== sequence) throw new Error("a frame is missing, repeated or out of order");
      sequence += 1;
      take(signed.readUInt8(8), JSON.parse(signed.toString("utf8", HEAD_BYTES)));
      rest = rest.subarray(4 + length);
    }
  };

  return {
    push: (bytes) => {
      if (fault !== null) return false;
      bytesRead += bytes.length;
      try {
        if (bytesRead > REPORT_BYTES_MAX) throw new Error(`the report has more than ${REPORT_BYTES_MAX} bytes`);
        rest = Buffer.concat([rest, bytes]);
        drain();
      } catch (error) {
        fault = error instanceof Error ? error.message : String(error);
      }
      return fault === null;
    },
    isComplete: () => fault === null && state === "ended" && rest.length === 0,
    finish: () => {
      if (fault === null && state !== "ended") fault = "it has no end";
      if (fault === null && rest.length > 0) fault = "bytes came after end";
      if (fault !== null)
        throw new Failure("verifier_report_invalid", `The report of the runner is invalid: ${fault}.`);
      return { tests: [...tests.values()], logs };
    },
  };
}

/** One frame as a runner writes it. */
export function reportFrame(nonce: Uint8Array, sequence: number, kind: number, content: unknown): Uint8Array {
  const json = Buffer.from(JSON.stringify(content), "utf8");
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(HEAD_BYTES - 4 + json.length + CODE_BYTES, 0);
  head.writeUInt32BE(sequence, 4);
  head.writeUInt8(kind, 8);
  const signed = Buffer.concat([head, json]);
  return Buffer.concat([signed, createHmac("sha256", nonce).update(signed).digest()]);
}

function reportedTest(content: Readonly<Record<string, unknown>>): ReportedTest {
  const { id, status, durationMs, detail } = content;
  if (typeof id !== "string" || typeof status !== "string" || !STATUSES.has(status)) {
    throw new Error("a test frame lacks its id or a known status");
  }
  if (typeof durationMs !== "number" || !Number.isFinite(durationMs) || durationMs < 0) {
    throw new Error("a test frame lacks its duration");
  }
  if (typeof detail !== "string") throw new Error("a test frame lacks its detail");
  return { id, status: status as ReportedTest["status"], durationMs, detail: detail.slice(0, DETAIL_CHARACTERS_MAX) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
