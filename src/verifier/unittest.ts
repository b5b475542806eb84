/**
 * The `unittest` template: a trusted runner executes the hidden test files in a clean verifier sandbox that holds the
 * artifacts as read-only data. No agent code runs there; tests reach it through the relay, in a sandbox of its own.
 *
 * Results come over a pipe only the runner holds, signed with a nonce of this grading. What the program under test does
 * is a verdict; what the runner itself does wrong is a Failure, and never a reward of 0.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { ExecResult } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { TestsVerifierSpec } from "../core/task.ts";
import type { GradeRequest, TestResult } from "../core/verifier.ts";
import { asset } from "./asset.ts";
import { type InputQueue, inputQueue } from "./input-queue.ts";
import { messageFrame, messageReader } from "./message-frames.ts";
import { isCleanPath, type PlacedFile, placeFiles } from "./place-files.ts";
import { type Report, type ReportReader, reportReader } from "./report-frames.ts";
import { type SubjectRelay, subjectRelay } from "./subject-relay.ts";
import { gradingRequest } from "./subject-sandbox.ts";
import type { Graded, Template, TemplateInput } from "./template.ts";

const RUNNER = "/run/runner";
const NONCE_BYTES = 32;
const LOG_BYTES_MAX = 1024 * 1024;
const MEMORY_BYTES_MIN = 512 * 1024 * 1024;
const PROCESSES_MAX = 256;
const TEST_FILE = /^\/tests\/((?:[^/]+\/)*test_[^/]+\.py)$/;

const RUNNER_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/bin:/bin",
  LANG: "C.UTF-8",
  TZ: "UTC",
  HOME: "/nonexistent",
};

/** The template. Its gradings take turns at claiming their sandboxes, see `claimBoth`. */
export function unittestTemplate(runtime: Runtime): Template {
  const inTurn = turnTaker();
  return async (input, sandboxes) => {
    const { request, spec } = input;
    const { verifier, subject } = await inTurn(() => claimBoth(request, spec, sandboxes));
    const replies = inputQueue();
    // Waiting for a sandbox is no time of the test that asked for it; message 0 tells the runner to stop its clocks.
    const onHold = (kind: "hold" | "go"): void => replies.push(messageFrame({ id: 0, kind }));
    const claim = (): Promise<Sandbox> => sandboxes.claim(gradingRequest(request, "subject"), request.signal);
    const relay = subjectRelay(request, { subject: subject ?? claim, runtime, onHold });
    try {
      await placeFiles(verifier, verifierFiles(input), request.signal);
      const report = await runRunner(verifier, input, { relay, replies, runtime });
      return {
        ...manifestResults(spec, report),
        sandboxIds: [verifier.id, ...relay.sandboxIds()],
        imageHash: verifier.info.imageHash,
      };
    } finally {
      await Promise.all([verifier.destroy(), relay.close()]);
    }
  };
}

interface Claimed {
  readonly verifier: Sandbox;
  /** Null when no test file speaks of the subject; a test that reaches it all the same claims it then. */
  readonly subject: Sandbox | null;
}

/**
 * Both sandboxes of a grading, or none. Gradings that each held one and waited for another could fill the pool and stop
 * each other for ever; claimed in turn, one of them always has, or gets, all it needs. The pool must lend at least two.
 */
async function claimBoth(request: GradeRequest, spec: TestsVerifierSpec, sandboxes: SandboxPool): Promise<Claimed> {
  const verifier = await sandboxes.claim(verifierRequest(request), request.signal);
  if (!spec.files.some((file) => /\bsubject\b/.test(Buffer.from(file.bytes).toString("latin1")))) {
    return { verifier, subject: null };
  }
  try {
    return { verifier, subject: await sandboxes.claim(gradingRequest(request, "subject"), request.signal) };
  } catch (error) {
    await verifier.destroy();
    throw error;
  }
}

/** Runs what it is given one after the other; a failure is the caller's and stops nobody else. */
function turnTaker(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

function verifierRequest(request: GradeRequest): SandboxRequest {
  const base = gradingRequest(request, "verifier");
  const memoryBytes = Math.max(base.limits.memoryBytes, MEMORY_BYTES_MIN);
  return { ...base, limits: { ...base.limits, memoryBytes, processesMax: PROCESSES_MAX } };
}

/** Artifacts first: nothing of the agent's can stand in the place of a test or of the runner. */
function verifierFiles(input: TemplateInput): PlacedFile[] {
  const { request, spec } = input;
  const trusted = [...spec.files, ...runnerFiles(input)];
  return [
    ...artifactFiles(request).map((file) => ({ ...file, owner: "root" as const, isRequired: false })),
    ...trusted.map((file) => ({ ...file, owner: "root" as const, isRequired: true })),
  ];
}

function artifactFiles(request: GradeRequest): FileContent[] {
  const { files, answer } = request.artifacts;
  const placed = files.map((file) => {
    if (!isCleanPath(file.path)) {
      throw new Failure("artifact_lost", `The artifact path ${JSON.stringify(file.path)} is not absolute and plain.`);
    }
    return { path: `/artifacts${file.path}`, bytes: file.bytes, mode: 0o444 | (file.mode & 0o111) };
  });
  if (answer === null) return placed;
  return [...placed, { path: "/artifacts/answer.txt", bytes: Buffer.from(answer, "utf8"), mode: 0o444 }];
}

function runnerFiles({ request, spec, gradeMs }: TemplateInput): FileContent[] {
  const config = {
    gradingSeed: request.gradingSeed.toString(),
    files: spec.files.flatMap((file) => TEST_FILE.exec(file.path)?.[1] ?? []),
    testMs: gradeMs / 4,
    // The runner ends by itself well before its own limit, so that a slow program is a verdict and not a fault.
    budgetMs: Math.max(gradeMs * 0.6, gradeMs - 10_000),
  };
  const texts = {
    "unittest_runner.py": asset("unittest_runner.py"),
    "unittest_child.py": asset("unittest_child.py"),
    "sandlot_subject.py": asset("sandlot_subject.py"),
    "config.json": JSON.stringify(config),
  };
  const files = Object.entries(texts).map(([name, text]) => ({
    path: `${RUNNER}/${name}`,
    bytes: Buffer.from(text, "utf8"),
    mode: 0o444,
  }));
  return [...files, { path: "/run/verify/.keep", bytes: new Uint8Array(), mode: 0o444 }];
}

interface RunnerLinks {
  readonly relay: SubjectRelay;
  readonly replies: InputQueue;
  readonly runtime: Runtime;
}

async function runRunner(
  sandbox: Sandbox,
  { request, gradeMs }: TemplateInput,
  { relay, replies, runtime }: RunnerLinks,
): Promise<Report> {
  const nonce = runtime.randomBytes(NONCE_BYTES);
  const report = reportReader(nonce);
  const nonceInput = inputQueue();
  nonceInput.push(nonce);
  nonceInput.end();
  const stop = new AbortController();
  const relayed = relayRequests(relay, replies.push, () => stop.abort());
  const python = ["/usr/bin/python3", "-I", "-S", "-B", "-X", "utf8", `${RUNNER}/unittest_runner.py`];
  const result = await sandbox.exec(python, {
    user: "verifier",
    cwd: "/run/verify",
    envVars: RUNNER_ENVIRONMENT,
    timeoutMs: gradeMs,
    outputBytesMax: LOG_BYTES_MAX,
    descendants: "kill",
    signal: AbortSignal.any([request.signal, stop.signal]),
    pipes: [
      {
        fd: 3,
        onBytes: (bytes) => {
          if (!report.push(bytes)) stop.abort();
        },
      },
      { fd: 4, input: nonceInput.input },
      { fd: 5, onBytes: relayed.take },
      { fd: 6, input: replies.input },
    ],
  });
  replies.end();
  await relayed.close();
  const failure = relayed.failure();
  if (failure !== null) throw failure;
  if (request.signal.aborted) {
    throw new Failure("cancelled", "The grading was cancelled.", { cause: request.signal.reason });
  }
  return checkedReport(report, result, stop.signal.aborted, gradeMs);
}

interface RelayedRequests {
  readonly take: (bytes: Uint8Array) => void;
  /** Gives up what is still being answered, and resolves when nothing is. */
  close(): Promise<void>;
  failure(): Failure | null;
}

/**
 * Answers one request at a time. The runner waits for each reply, unless its test ran out of time: a new request
 * therefore gives up the one before. The first failure stops the grading: `stop` is called and nothing more is answered.
 */
function relayRequests(relay: SubjectRelay, reply: (bytes: Uint8Array) => void, stop: () => void): RelayedRequests {
  const messages = messageReader();
  let failure: Failure | null = null;
  let working = Promise.resolve();
  let current = new AbortController();
  const fail = (error: unknown): void => {
    failure ??= toFailure(error);
    stop();
  };
  const answer = async (message: unknown, given: AbortSignal): Promise<void> => {
    if (failure !== null || given.aborted) return;
    try {
      reply(messageFrame(await relay.answer(message, given)));
    } catch (error) {
      if (!given.aborted) fail(error);
    }
  };
  return {
    take: (bytes) => {
      try {
        for (const message of messages.push(bytes)) {
          current.abort();
          current = new AbortController();
          const { signal } = current;
          working = working.then(() => answer(message, signal));
        }
      } catch (error) {
        fail(error);
      }
    },
    close: () => {
      current.abort();
      return working;
    },
    failure: () => failure,
  };
}

/** Exit codes are necessary, never sufficient; a report that was complete when the time ran out is kept. */
function checkedReport(report: ReportReader, result: ExecResult, isStopped: boolean, gradeMs: number): Report {
  if (report.isComplete() && (result.exitCode === 0 || result.timedOut)) return report.finish();
  if (isStopped) return report.finish();
  const said = Buffer.from(result.stderr).toString("utf8").slice(-600).trim();
  if (result.timedOut) {
    throw new Failure("verifier_timeout", `The test runner did not end within ${gradeMs} ms. ${said}`.trim());
  }
  if (result.exitCode !== 0) {
    const how = result.startError ?? result.signal ?? `exit code ${result.exitCode}`;
    throw new Failure("verifier_crashed", `The test runner ended early (${how}). ${said}`.trim());
  }
  return report.finish();
}

/** One result for each test of the manifest; what is not in it is listed apart and counts for nothing. */
function manifestResults(spec: TestsVerifierSpec, report: Report): Pick<Graded, "tests" | "extraTests"> {
  const reported = new Map(report.tests.map((test) => [test.id, test]));
  const expected = new Set(spec.manifest.map((entry) => entry.id));
  const extraTests = report.tests.filter((test) => !expected.has(test.id)).map((test) => test.id);
  const notes = report.logs.join("\n");
  const tests = spec.manifest.map((entry, index): TestResult => {
    const test = reported.get(entry.id);
    const visibility = spec.tiers.find((tier) => tier.name === entry.tier)?.visibility ?? "hidden";
    const own = test?.detail ?? "the runner did not report this test";
    const detail = index === 0 && notes !== "" ? `${own}\n${notes}`.trim() : own;
    return {
      id: entry.id,
      tier: entry.tier,
      visibility,
      status: test?.status ?? "missing",
      durationMs: test?.durationMs ?? 0,
      detail: detail.slice(0, 2_048),
    };
  });
  return { tests, extraTests };
}
