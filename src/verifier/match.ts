/**
 * The `match` template: hidden inputs go one at a time to the answer, which runs in one clean subject sandbox, and the
 * platform compares what comes back. Expected values never enter any sandbox, so there is nothing to steal or forge.
 *
 * An answer that hangs, exits or exhausts memory fails that case and gets a new process, a bounded number of times.
 */

import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxLimits, SandboxRequest } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { MatchCase, MatchVerifierSpec, Task } from "../core/task.ts";
import type { GradeRequest, TestResult, TestStatus } from "../core/verifier.ts";
import { clipped } from "./clipped.ts";
import { isRight, type MathEqual } from "./compare.ts";
import {
  type AskedSubject,
  artifactOf,
  isCollected,
  readText,
  startAsking,
  withoutLastLineEnd,
} from "./match-subject.ts";
import { canonicalPlain } from "./plain.ts";
import type { SubjectReply } from "./subject-driver.ts";
import { gradingRequest, prepareSubject, sealFile } from "./subject-sandbox.ts";
import type { Graded } from "./template.ts";

/** Longest answer that is tried, in UTF-8 bytes. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** New processes after the first; then the remaining cases fail. */
const RESTARTS_MAX = 3;
const DETAIL_CHARACTERS_MAX = 500;

/** Enough for one Python process; a task may ask for less. */
const SUBJECT_LIMITS: SandboxLimits = {
  cpus: 1,
  memoryBytes: 256 * 1024 * 1024,
  diskBytes: 16 * 1024 * 1024,
  filesMax: 1_000,
  processesMax: 32,
  shmBytes: 1024 * 1024,
};

/** What matching needs beside sandboxes. */
export interface MatchParts {
  readonly runtime: Runtime;
  readonly mathEqual: MathEqual;
}

/** Grades the submitted text, or the artifact the subject names. Throws only what the contract of `Verifier.grade` allows. */
export async function gradeMatch(
  request: GradeRequest,
  spec: MatchVerifierSpec,
  sandboxes: SandboxPool,
  parts: MatchParts,
): Promise<Graded> {
  const { subject } = spec;
  const cases = spec.cases(request.gradingSeed).map((one) => readCase(one, spec));
  const isFile = isCollected(subject);
  const source = isFile ? artifactOf(request, subject) : request.artifacts.answer;
  const unusable = typeof source === "string" || !isFile ? whyUnusable(source as string | null) : null;
  if (source === null || unusable !== null) {
    const why = unusable ?? `the file ${subject.file} was not made`;
    const tests = cases.map((one) => testResult(spec, one, 0, { status: "failed", detail: why }));
    return { tests, sandboxIds: [], imageHash: "" };
  }
  if (subject.form === "text")
    return { tests: await compareTexts(spec, cases, source, parts), sandboxIds: [], imageHash: "" };
  const wanted = isFile ? gradingRequest(request, "subject") : subjectRequest(request.task, request);
  return sandboxes.withSandbox(wanted, request.signal, async (sandbox) => {
    const { runtime } = parts;
    if (typeof source !== "string") {
      await prepareSubject(sandbox, request);
      await sealFile(sandbox, source.path, request);
    }
    const deadline = runtime.monotonic() + request.task.limits.gradeMs;
    const run: MatchRun = { ...parts, request, spec, source, sandbox, deadline };
    return { tests: await runCases(run, cases), sandboxIds: [sandbox.id], imageHash: sandbox.info.imageHash };
  });
}

/** Refuses an expected value that is no plain data before anything runs. */
function readCase(one: MatchCase, { subject }: MatchVerifierSpec): MatchCase {
  const isText = subject.form === "program" || subject.form === "text";
  const expected = isText ? withoutLastLineEnd(one.expected) : one.expected;
  canonicalPlain(expected);
  return { ...one, expected };
}

function whyUnusable(answer: string | null): string | null {
  if (answer === null) return "nothing was submitted";
  if (answer.trim() === "") return "the answer is empty";
  const bytes = Buffer.byteLength(answer, "utf8");
  return bytes > ANSWER_BYTES_MAX ? `the answer has ${bytes} bytes; at most ${ANSWER_BYTES_MAX} are tried` : null;
}

/** Nothing runs: the submitted text itself is the value. */
async function compareTexts(
  spec: MatchVerifierSpec,
  cases: readonly MatchCase[],
  source: string | FileContent,
  { runtime, mathEqual }: MatchParts,
): Promise<TestResult[]> {
  const tests: TestResult[] = [];
  for (const one of cases) {
    const startedMs = runtime.monotonic();
    const text = canonicalPlain(readText(String(source).trim(), one.expected, one.compare));
    const end = await endOf({ kind: "value", text }, one, mathEqual);
    tests.push(testResult(spec, one, runtime.monotonic() - startedMs, end));
  }
  return tests;
}

function subjectRequest(task: Task, request: GradeRequest): SandboxRequest {
  const limits = Object.entries(SUBJECT_LIMITS).map(([name, value]) => [
    name,
    Math.min(value, task.resources[name as keyof SandboxLimits]),
  ]);
  return {
    attemptId: request.attemptId,
    role: "subject",
    fence: request.fence,
    image: task.image,
    isolationMin: "namespace",
    limits: Object.fromEntries(limits) as unknown as SandboxLimits,
    network: { mode: "off" },
    envVars: {},
    labels: {},
    lifetimeMs: task.limits.gradeMs + 60_000,
  };
}

interface MatchRun extends MatchParts {
  readonly request: GradeRequest;
  readonly spec: MatchVerifierSpec;
  /** The submitted text, or the artifact. */
  readonly source: string | FileContent;
  readonly sandbox: Sandbox;
  /** In the runtime's monotonic milliseconds. */
  readonly deadline: number;
}

/** Leaves the last process to the sandbox, which is destroyed next and takes it along. */
async function runCases(run: MatchRun, cases: readonly MatchCase[]): Promise<TestResult[]> {
  const tests: TestResult[] = [];
  let asked: AskedSubject | null = null;
  let starts = 0;
  /** Set once no further case can be run: each then ends like this. */
  let stopped: TestEnd | null = null;
  for (const one of cases) {
    const startedMs = run.runtime.monotonic();
    if (startedMs >= run.deadline) stopped ??= { status: "timeout", detail: "the time for grading was used up" };
    if (stopped === null && asked === null) {
      if (starts > RESTARTS_MAX) {
        stopped = { status: "error", detail: `not run: earlier cases ended ${starts} processes` };
      } else {
        asked = await startAsking({ ...run, isUsed: starts > 0 }, run.spec, run.source);
        starts += 1;
        if (asked.refusal !== null) stopped = await endOf(asked.refusal, one, run.mathEqual);
      }
    }
    let end = stopped;
    if (end === null && asked !== null) {
      end = await endOf(await asked.ask(one), one, run.mathEqual);
      if (asked.isSpent) asked = null;
    }
    const ended = end ?? { status: "error", detail: "not run" };
    tests.push(testResult(run.spec, one, run.runtime.monotonic() - startedMs, ended));
  }
  return tests;
}

interface TestEnd {
  readonly status: TestStatus;
  readonly detail: string;
}

async function endOf(reply: SubjectReply, { expected, compare }: MatchCase, mathEqual: MathEqual): Promise<TestEnd> {
  switch (reply.kind) {
    case "value":
      if (await isRight(reply.text, expected, compare, mathEqual)) return { status: "passed", detail: "" };
      return { status: "failed", detail: `returned ${shown(reply.text)}, expected ${shown(canonicalPlain(expected))}` };
    case "raised":
      return { status: "error", detail: reply.detail };
    case "timeout":
      return { status: "timeout", detail: reply.detail };
    case "died":
      return { status: "error", detail: reply.detail };
  }
}

function shown(text: string): string {
  return clipped(text, DETAIL_CHARACTERS_MAX);
}

function testResult(
  spec: MatchVerifierSpec,
  { id, tier: name }: MatchCase,
  durationMs: number,
  { status, detail }: TestEnd,
): TestResult {
  const visibility = spec.tiers.find((tier) => tier.name === name)?.visibility ?? "hidden";
  return { id, tier: name, visibility, status, durationMs, detail };
}
