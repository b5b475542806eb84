/**
 * The visible suite run again on the graded state: once from the task's own bytes, once from what the agent made of
 * them. It runs in a subject sandbox, beside the program it tests, so what it says is a signal for people and detectors:
 * it is in no score, and whatever happens here costs no verdict.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { GradeRequest, TestResult, TestStatus, Verdict } from "../core/verifier.ts";
import { type AssetName, asset } from "./asset.ts";
import { messageReader } from "./message-frames.ts";
import { NODE_START } from "./node-subject.ts";
import { type PlacedFile, placeFiles } from "./place-files.ts";
import { gradingRequest, prepareSubject, SUBJECT_ENVIRONMENT } from "./subject-sandbox.ts";

const FOLDER = "/visible";
const PROGRAMS_FOLDER = "/run/visible";
const PROGRAMS: readonly AssetName[] = [
  "visible_suite.py",
  "child_link.py",
  "child_guard.py",
  "sandlot_subject.py",
  "unittest_child.py",
  "pytest_child.py",
  "node-test-main.mjs",
  "test-reporter.mjs",
  "runner-link.mjs",
];
/** Of the whole suite, and never more than half of what the task grants its grading. */
const SUITE_MS_MAX = 60_000;
const OUTPUT_BYTES_MAX = 256 * 1024;
const DETAIL_CHARACTERS_MAX = 2_048;
const TESTS_MAX = 10_000;
const ID_CHARACTERS_MAX = 512;
/** What one file may tell: it is kept in memory and in the record, and the graded program may be who tells it. */
const TOLD_BYTES_MAX = 4 * 1024 * 1024;
const STATUSES: readonly TestStatus[] = ["passed", "failed", "skipped", "error", "timeout"];

/** Null for a task without visible tests, and where the suite could not be run. Throws only `cancelled`. */
export async function gradeVisible(
  request: GradeRequest,
  sandboxes: SandboxPool,
  runtime: Runtime,
): Promise<Verdict["visible"]> {
  const own = request.task.files.filter((file) => isVisible(file.path));
  if (!own.some((file) => suiteKind(file) !== null)) return null;
  // Nothing crosses of a folder that was emptied; with an answer for a contract nothing of the sandbox does.
  const unknown = request.task.contract.state === "answer" ? own : [];
  const left = request.artifacts.visible?.filter((file) => isVisible(file.path)) ?? unknown;
  try {
    const original = await runSuite(request, own, sandboxes, runtime);
    const asLeft = isEqual(own, left) ? original : await runSuite(request, left, sandboxes, runtime);
    return { original, asLeft };
  } catch (error) {
    if (!request.signal.aborted) return null;
    throw new Failure("cancelled", "The grading was cancelled.", { cause: toFailure(error) });
  }
}

function isVisible(path: string): boolean {
  return path.startsWith(`${FOLDER}/`);
}

function isEqual(one: readonly FileContent[], other: readonly FileContent[]): boolean {
  const bytes = new Map(other.map((file) => [file.path, file.bytes]));
  return (
    one.length === other.length &&
    one.every(({ path, bytes: own }) => Buffer.compare(own, bytes.get(path) ?? EMPTY) === 0)
  );
}

const EMPTY = Buffer.from("\0 no such file");

type SuiteKind = "unittest" | "pytest" | "node" | "shell";

/** How a visible file is run, by its name and, for Python, by what it is written for; null for one that holds no test. */
function suiteKind({ path, bytes }: FileContent): SuiteKind | null {
  if (/\.test\.[cm]?js$/.test(path)) return "node";
  if (/(?:^|\/)test[^/]*\.sh$/.test(path)) return "shell";
  if (!/(?:^|\/)test_[^/]*\.py$/.test(path)) return null;
  return /\bTestCase\b/.test(Buffer.from(bytes).toString("latin1")) ? "unittest" : "pytest";
}

/** Each run has a sandbox of its own: what one leaves behind is nothing the other sees. */
async function runSuite(
  request: GradeRequest,
  suite: readonly FileContent[],
  sandboxes: SandboxPool,
  runtime: Runtime,
): Promise<readonly TestResult[]> {
  if (!suite.some((file) => suiteKind(file) !== null)) return [];
  const sandbox = await sandboxes.claim(gradingRequest(request, "subject"), request.signal);
  try {
    await prepareSubject(sandbox, request);
    await placeSuite(sandbox, request, suite);
    const endMs = runtime.monotonic() + Math.min(SUITE_MS_MAX, request.task.limits.gradeMs / 2);
    const results: TestResult[] = [];
    for (const file of suite) {
      const kind = suiteKind(file);
      const timeoutMs = Math.round(endMs - runtime.monotonic());
      if (kind === null || timeoutMs <= 0 || results.length >= TESTS_MAX) continue;
      results.push(...(await runFile({ sandbox, request, timeoutMs }, file.path.slice(FOLDER.length + 1), kind)));
    }
    return results.slice(0, TESTS_MAX);
  } finally {
    await sandbox.destroy();
  }
}

/** In place of the task's own files, which `prepareSubject` has put there. */
async function placeSuite(sandbox: Sandbox, request: GradeRequest, suite: readonly FileContent[]): Promise<void> {
  const programs = PROGRAMS.map((name): PlacedFile => {
    const bytes = Buffer.from(asset(name), "utf8");
    return { path: `${PROGRAMS_FOLDER}/${name}`, bytes, mode: 0o444, owner: "root", isRequired: true };
  });
  await sandbox.exec(["/bin/rm", "-rf", FOLDER], { user: "root", timeoutMs: 10_000, outputBytesMax: OUTPUT_BYTES_MAX });
  const placed = suite.map((file): PlacedFile => ({ ...file, owner: "root", isRequired: false }));
  await placeFiles(sandbox, [...placed, ...programs], request.signal);
}

interface SuitePlace {
  readonly sandbox: Sandbox;
  readonly request: GradeRequest;
  readonly timeoutMs: number;
}

async function runFile(place: SuitePlace, file: string, kind: SuiteKind): Promise<readonly TestResult[]> {
  const { sandbox, request, timeoutMs } = place;
  const told = toldTests(file);
  const result = await sandbox.exec(argvOf(file, kind), {
    user: "subject",
    cwd: request.task.workdir,
    envVars: { ...SUBJECT_ENVIRONMENT, ...request.task.envVars },
    timeoutMs,
    outputBytesMax: OUTPUT_BYTES_MAX,
    descendants: "kill",
    signal: request.signal,
    pipes: [{ fd: 3, onBytes: told.take }],
  });
  if (kind !== "shell") return told.results(result.timedOut ? "timeout" : "error");
  const detail = Buffer.from(result.stderr).toString("utf8").slice(-DETAIL_CHARACTERS_MAX);
  const status = result.timedOut ? "timeout" : result.exitCode === 0 ? "passed" : "failed";
  return [visibleResult(file, { status, durationMs: result.durationMs, detail })];
}

function argvOf(file: string, kind: SuiteKind): readonly string[] {
  if (kind === "shell") return ["/bin/sh", `${FOLDER}/${file}`];
  if (kind !== "node") {
    return ["/usr/bin/python3", "-B", `${PROGRAMS_FOLDER}/visible_suite.py`, `${kind}_child`, FOLDER, file];
  }
  const reporter = [
    "--no-warnings",
    `--test-reporter=${PROGRAMS_FOLDER}/test-reporter.mjs`,
    "--test-reporter-destination=stdout",
  ];
  const settings = JSON.stringify({ folder: FOLDER, file });
  return ["/bin/sh", "-c", NODE_START, "node", ...reporter, `${PROGRAMS_FOLDER}/node-test-main.mjs`, settings];
}

interface ToldTests {
  readonly take: (bytes: Uint8Array) => void;
  /** `status` is of the planned tests that nothing was told of. */
  results(status: TestStatus): readonly TestResult[];
}

/** What a file told of its tests. Junk ends the listening, and nothing more. */
function toldTests(file: string): ToldTests {
  const reader = messageReader();
  const planned = new Set<string>();
  const found = new Map<string, TestResult>();
  let isOver = false;
  let bytesTaken = 0;
  const plan = (id: unknown): void => {
    if (typeof id === "string" && planned.size < TESTS_MAX) planned.add(id.slice(0, ID_CHARACTERS_MAX));
  };
  const read = (message: unknown): void => {
    const { kind, id, ids, status, seconds, detail } = (message ?? {}) as Readonly<Record<string, unknown>>;
    if (kind === "plan" && Array.isArray(ids)) for (const one of ids.slice(0, TESTS_MAX)) plan(one);
    const known = STATUSES.find((one) => one === status);
    if (kind !== "test" || typeof id !== "string" || known === undefined || found.size >= TESTS_MAX) return;
    const name = id.slice(0, ID_CHARACTERS_MAX);
    const durationMs = typeof seconds === "number" && Number.isFinite(seconds) ? Math.max(0, seconds * 1_000) : 0;
    found.set(
      name,
      visibleResult(name, { status: known, durationMs, detail: typeof detail === "string" ? detail : "" }),
    );
  };
  return {
    take: (bytes) => {
      bytesTaken += bytes.length;
      isOver ||= bytesTaken > TOLD_BYTES_MAX;
      if (isOver) return;
      try {
        for (const message of reader.push(bytes)) read(message);
      } catch {
        isOver = true;
      }
    },
    results: (status) => {
      const all = [...new Set([...found.keys(), ...planned])].slice(0, TESTS_MAX);
      if (all.length === 0) return [visibleResult(file, { status, durationMs: 0, detail: "it told of no test" })];
      const lost = { status, durationMs: 0, detail: "it told of no end of this test" };
      return all.toSorted().map((id) => found.get(id) ?? visibleResult(id, lost));
    },
  };
}

function visibleResult(id: string, told: Pick<TestResult, "status" | "durationMs" | "detail">): TestResult {
  const detail = told.detail.slice(0, DETAIL_CHARACTERS_MAX);
  return { id: `visible/${id}`, tier: "visible", visibility: "visible", ...told, detail };
}
