/**
 * The machinery of templates that run hidden test files: a trusted runner executes them in a clean verifier sandbox
 * that holds the artifacts as read-only data. No agent code runs there; tests reach it through the relay, in a sandbox
 * of its own. A `TestFilesRunner` says what is special about one kind of test file.
 *
 * Results come over a pipe only the runner holds, signed with a nonce of this grading. What the program under test does
 * is a verdict; what the runner itself does wrong is a Failure, and never a reward of 0.
 */
import { Failure } from "../core/errors.ts";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task, TestsVerifierSpec } from "../core/task.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { type AssetName, asset } from "./asset.ts";
import { inputQueue } from "./input-queue.ts";
import { manifestResults } from "./manifest-results.ts";
import { messageFrame } from "./message-frames.ts";
import { isCleanPath, type PlacedFile, placeFiles } from "./place-files.ts";
import { RUNNER_FOLDER, runTestRunner } from "./run-test-runner.ts";
import { subjectRelay } from "./subject-relay.ts";
import { gradingRequest } from "./subject-sandbox.ts";
import type { Template, TemplateInput, TemplateParts } from "./template.ts";

const MEMORY_BYTES_MIN = 512 * 1024 * 1024;
const PROCESSES_MAX = 256;

/**
 * One kind of test file. `python/test_runner.py` runs as `verifier`, holds the result pipe, and forks one child for each
 * test file; the child is a Python module with `run(config, file, done, socket)` that talks over a `child_link.Link`.
 */
export interface TestFilesRunner {
  /** Tested on the path below `/tests/`: which files hold tests. All others are there to be read by them. */
  readonly testFile: RegExp;
  /** The module of the child, without `.py`. */
  readonly child: string;
  /** What is placed beside the runner: the module of the child and all it reads. */
  readonly programs: readonly AssetName[];
  /** Node packages the tests import by name, each of the files named; the first is what the name gives. Default none. */
  readonly modules?: Readonly<Record<string, readonly AssetName[]>>;
  /** Further keys of the child's configuration; default none. */
  config?(input: TemplateInput): Readonly<Record<string, unknown>>;
}

/** A template that runs the test files of one kind. */
export function testFilesTemplate(runner: TestFilesRunner, { runtime, inTurn }: TemplateParts): Template {
  return async (input, sandboxes) => {
    const { request, spec } = input;
    const { verifier, subject } = await inTurn(() => claimBoth(request, spec, sandboxes));
    const replies = inputQueue();
    // Waiting for a sandbox is no time of the test that asked for it; message 0 tells the runner to stop its clocks.
    const onHold = (kind: "hold" | "go"): void => replies.push(messageFrame({ id: 0, kind }));
    const claim = (): Promise<Sandbox> => sandboxes.claim(gradingRequest(request, "subject"), request.signal);
    const relay = subjectRelay(request, { subject: subject ?? claim, runtime, onHold });
    try {
      await placeFiles(verifier, verifierFiles(input, runner), request.signal);
      const report = await runTestRunner(verifier, input, { relay, replies, runtime });
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

/** A verifier sandbox: the image of the task, with room for the trusted programs. */
export function verifierRequest(request: GradeRequest): SandboxRequest {
  const base = gradingRequest(request, "verifier");
  const memoryBytes = Math.max(base.limits.memoryBytes, MEMORY_BYTES_MIN);
  return { ...base, limits: { ...base.limits, memoryBytes, processesMax: PROCESSES_MAX } };
}

/** Artifacts first: nothing of the agent's can stand in the place of a test or of the runner. */
function verifierFiles(input: TemplateInput, runner: TestFilesRunner): PlacedFile[] {
  const { request, spec } = input;
  const trusted = [...spec.files, ...runnerFiles(input, runner)];
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

function runnerFiles(input: TemplateInput, runner: TestFilesRunner): FileContent[] {
  const { request, spec, gradeMs } = input;
  const { testFile, child, programs, modules = {}, config } = runner;
  const paths = spec.files.flatMap((file) => (file.path.startsWith("/tests/") ? [file.path.slice(7)] : []));
  const settings = {
    child,
    gradingSeed: request.gradingSeed.toString(),
    files: paths.filter((path) => testFile.test(path)),
    tiers: spec.tiers.map((tier) => tier.name),
    testMs: gradeMs / 4,
    // The runner ends by itself well before its own limit, so that a slow program is a verdict and not a fault.
    budgetMs: Math.max(gradeMs * 0.6, gradeMs - 10_000),
    collected: collectedPaths(request.task),
    ...config?.(input),
  };
  const texts: readonly AssetName[] = ["test_runner.py", "child_link.py", ...programs];
  return [
    ...texts.map((name) => text(`${RUNNER_FOLDER}/${name}`, asset(name))),
    text(`${RUNNER_FOLDER}/config.json`, JSON.stringify(settings)),
    ...Object.entries(modules).flatMap(([name, files]) => modulePackage(name, files)),
    text("/run/verify/.keep", ""),
  ];
}

/** The files and folders that can be among the artifacts. */
function collectedPaths({ contract, workdir }: Task): readonly string[] {
  if (contract.state === "workdir") return ["/answer.txt", workdir];
  return ["/answer.txt", ...(contract.state === "declared" ? contract.files.map((rule) => rule.path) : [])];
}

function modulePackage(name: string, files: readonly AssetName[]): FileContent[] {
  const folder = `/tests/node_modules/${name}`;
  return [
    text(`${folder}/package.json`, JSON.stringify({ name, type: "module", exports: `./${files[0]}` })),
    ...files.map((file) => text(`${folder}/${file}`, asset(file))),
  ];
}

function text(path: string, content: string): FileContent {
  return { path, bytes: Buffer.from(content, "utf8"), mode: 0o444 };
}
