/**
 * The `match` template: hidden inputs go one at a time to the answer, which runs in one clean subject sandbox, and the
 * platform compares what comes back. Expected values never enter any sandbox, so there is nothing to steal or forge.
 *
 * An answer that hangs, exits or exhausts memory fails that case and gets a new process, a bounded number of times.
 */

import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxLimits, SandboxRequest } from "../core/sandbox.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { MatchCase, MatchVerifierSpec, Task } from "../core/task.ts";
import type { GradeRequest, TestResult, TestStatus } from "../core/verifier.ts";
import { canonicalPlain, pythonLiteral } from "./plain.ts";
import { type SubjectDriver, type SubjectReply, startSubjectDriver } from "./subject-driver.ts";
import type { Graded } from "./template.ts";

/** Longest answer that is tried, in UTF-8 bytes. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** New processes after the first; then the remaining cases fail. */
const RESTARTS_MAX = 3;
const LOAD_MS_MIN = 1_000;
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

/** Grades the submitted text. Throws only what the contract of `Verifier.grade` allows. */
export async function gradeMatch(
  request: GradeRequest,
  spec: MatchVerifierSpec,
  sandboxes: SandboxPool,
  runtime: Runtime,
): Promise<Graded> {
  const cases = spec.cases(request.gradingSeed).map((one) => ({ ...one, wanted: canonicalPlain(one.expected) }));
  const { answer } = request.artifacts;
  const unusable = whyUnusable(answer);
  if (answer === null || unusable !== null) {
    const tests = cases.map((one) => testResult(spec, one, "failed", 0, unusable ?? ""));
    return { tests, sandboxIds: [], imageHash: "" };
  }
  return sandboxes.withSandbox(subjectRequest(request.task, request), request.signal, async (sandbox) => {
    const run: MatchRun = { request, spec, answer, sandbox, runtime, deadline: runtime.monotonic() + gradeMs(request) };
    return { tests: await runCases(run, cases), sandboxIds: [sandbox.id], imageHash: sandbox.info.imageHash };
  });
}

function whyUnusable(answer: string | null): string | null {
  if (answer === null) return "nothing was submitted";
  if (answer.trim() === "") return "the answer is empty";
  const bytes = Buffer.byteLength(answer, "utf8");
  return bytes > ANSWER_BYTES_MAX ? `the answer has ${bytes} bytes; at most ${ANSWER_BYTES_MAX} are tried` : null;
}

function gradeMs(request: GradeRequest): number {
  return request.task.limits.gradeMs;
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

interface MatchRun {
  readonly request: GradeRequest;
  readonly spec: MatchVerifierSpec;
  readonly answer: string;
  readonly sandbox: Sandbox;
  readonly runtime: Runtime;
  /** In the runtime's monotonic milliseconds. */
  readonly deadline: number;
}

type WantedCase = MatchCase & { readonly wanted: string };

async function runCases(run: MatchRun, cases: readonly WantedCase[]): Promise<TestResult[]> {
  const tests: TestResult[] = [];
  let driver: SubjectDriver | null = null;
  let starts = 0;
  /** Set once no further case can be run: each then ends like this. */
  let stopped: Judgement | null = null;
  try {
    for (const one of cases) {
      const startedMs = run.runtime.monotonic();
      if (startedMs >= run.deadline) stopped ??= { status: "timeout", detail: "the time for grading was used up" };
      if (stopped === null && driver === null) {
        if (starts > RESTARTS_MAX) {
          stopped = { status: "error", detail: `not run: earlier cases ended ${starts} processes` };
        } else {
          driver = await start(run, starts > 0);
          starts += 1;
          if (driver.refusal !== null) stopped = judge(driver.refusal, "");
        }
      }
      let judgement = stopped;
      if (judgement === null && driver !== null) {
        const reply: SubjectReply = await driver.call(`[${one.args.map(pythonLiteral).join()}]`, "{}");
        judgement = judge(reply, one.wanted);
        if (reply.kind === "timeout" || reply.kind === "died") driver = null;
      }
      const { status, detail } = judgement ?? { status: "error", detail: "not run" };
      tests.push(testResult(run.spec, one, status, run.runtime.monotonic() - startedMs, detail));
    }
  } finally {
    await driver?.close();
  }
  return tests;
}

function start(run: MatchRun, isUsed: boolean): Promise<SubjectDriver> {
  const { subject } = run.spec;
  return startSubjectDriver(
    {
      form: subject.form === "expression" ? "expression" : "function",
      source: run.answer,
      entry: subject.entry,
      parameters: subject.parameters,
      loadMs: Math.max(LOAD_MS_MIN, subject.callMs),
      callMs: subject.callMs,
    },
    {
      sandbox: run.sandbox,
      runtime: run.runtime,
      cwd: "/",
      envVars: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC", HOME: "/nonexistent" },
      timeoutMs: run.deadline - run.runtime.monotonic(),
      signal: run.request.signal,
      isUsed,
      isPristine: true,
    },
  );
}

interface Judgement {
  readonly status: TestStatus;
  readonly detail: string;
}

function judge(reply: SubjectReply, wanted: string): Judgement {
  switch (reply.kind) {
    case "value":
      if (reply.text === wanted) return { status: "passed", detail: "" };
      return { status: "failed", detail: `returned ${cut(reply.text)}, expected ${cut(wanted)}` };
    case "raised":
      return { status: "error", detail: reply.detail };
    case "timeout":
      return { status: "timeout", detail: reply.detail };
    case "died":
      return { status: "error", detail: reply.detail };
  }
}

/** For people; a returned text is untrusted, so only printable ASCII stays. */
function cut(text: string): string {
  const short = text.length > DETAIL_CHARACTERS_MAX ? `${text.slice(0, DETAIL_CHARACTERS_MAX)}…` : text;
  return short.replace(/[^ -~…]/g, "?");
}

function testResult(
  spec: MatchVerifierSpec,
  one: MatchCase,
  status: TestStatus,
  durationMs: number,
  detail: string,
): TestResult {
  const visibility = spec.tiers.find((tier) => tier.name === one.tier)?.visibility ?? "hidden";
  return { id: one.id, tier: one.tier, visibility, status, durationMs, detail };
}
