/**
 * What hidden node:test files use to reach the graded program, which runs in another sandbox:
 *
 *     import { subject, artifacts, random } from "sandlot-subject";
 *     subject.call("src/cart.mjs:total", [[1, 2]])    -> plain data, or SubjectError, SubjectTimeout, SubjectEnded
 *     subject.run(["/bin/sh", "run.sh"], { stdin: "" }) -> { exitCode, stdout, stderr, timedOut }
 *     const next = random("names"); next()            -> numbers from 0 up to 1 that follow from the grading seed
 *
 * A returned value is rebuilt from text here, so it is a real array, Map or number and never an object of the program. A
 * number that is not finite is refused unless the test asks for it, because NaN passes comparisons it should not.
 */
import { createHash } from "node:crypto";
import { decode, encode } from "./plain-data.mjs";
import { ask } from "./runner-link.mjs";

const CALL_MS = 10_000;

/** The folder of what the agent left, as files to read. */
export const artifacts = "/artifacts";

export const gradingSeed = BigInt(JSON.parse(process.argv[2] ?? "{}").gradingSeed ?? "0");

/** Random numbers of their own stream, each from 0 up to 1: equal grading seed and label, equal numbers. */
export function random(label) {
  let count = 0;
  return () => {
    count += 1;
    const digest = createHash("sha256").update(`${gradingSeed}:${label}:${count}`).digest();
    return Number(digest.readBigUInt64BE() >> 11n) / 2 ** 53;
  };
}

/** The program threw. `typeName` is the name of the error, as the program states it. */
export class SubjectError extends Error {
  name = "SubjectError";
  constructor(typeName, detail) {
    super(detail || typeName);
    this.typeName = typeName;
  }
}

/** The program did not answer in time. */
export class SubjectTimeout extends Error {
  name = "SubjectTimeout";
}

/** The program ended its own process instead of answering. */
export class SubjectEnded extends Error {
  name = "SubjectEnded";
}

/** The graded program: the clean task image with the agent's artifacts, one sandbox for a whole grading. */
export const subject = {
  /** Calls `path/to/module.mjs:function` in a new process; paths are relative to the task's work folder. */
  call(target, args, { timeoutMs = CALL_MS, nonFinite = false } = {}) {
    const end = target.lastIndexOf(":");
    const words = { path: target.slice(0, end), function: target.slice(end + 1) };
    const given = encode([...args]);
    if (given.includes('["other","')) throw new TypeError("only plain data can be given to the subject");
    const reply = asked({ kind: "call", language: "node", ...words, args: given, kwargs: "{}", timeoutMs });
    try {
      return decode(reply.text, { nonFinite });
    } catch (error) {
      throw new SubjectError("NotPlainData", `the program's answer cannot be taken: ${error.message}`);
    }
  },

  /** Runs a command in the work folder. Background children stay until the grading ends. */
  run(argv, { stdin = "", timeoutMs = CALL_MS } = {}) {
    const input = Buffer.from(stdin).toString("base64");
    const { exitCode, stdout, stderr, timedOut } = asked({
      kind: "run",
      argv: argv.map(String),
      stdin: input,
      timeoutMs,
    });
    return { exitCode, stdout: Buffer.from(stdout, "base64"), stderr: Buffer.from(stderr, "base64"), timedOut };
  },
};

function asked(request) {
  const reply = ask(request);
  if (reply.kind === "timeout") throw new SubjectTimeout(reply.detail);
  if (reply.kind === "ended") throw new SubjectEnded(reply.detail);
  if (reply.kind === "raised") throw new SubjectError(reply.type, reply.detail);
  return reply;
}
