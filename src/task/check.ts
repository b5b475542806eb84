/**
 * `sandlot task check`: proves that a task is honest by running it. The oracle earns 1, doing nothing earns 0, wrong
 * solutions stay below 1, each in fresh sandboxes and each time alike. What could not be run is never called passed.
 */
import { resolve } from "node:path";
import { type Failure, failureClass, toFailure } from "../core/errors.ts";
import type { Outcome } from "../core/outcome.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Script, Task, TaskGenerator } from "../core/task.ts";
import type { TestResult } from "../core/verifier.ts";
import {
  type CheckReport,
  type CheckResult,
  checkResult,
  type Finding,
  mergedChecks,
  verdictOf,
} from "./check-report.ts";
import { alternativesPass, nopFails, oraclePasses, oracleStable, testsReported, wrongRejected } from "./check-runs.ts";
import { instructionForm, manifestMatches, noSolutionText, testsAssert, verifierIndependent } from "./check-static.ts";
import { readTask } from "./read-folder.ts";
import { type FoundTask, findTasks } from "./task-set.ts";

/** How one run of a script ended: as an episode would have, with its tests. */
export interface ScriptRun {
  readonly outcome: Outcome;
  readonly tests: readonly TestResult[];
}

/**
 * Runs a script as one episode in fresh sandboxes and grades it, never from memory; null does nothing and submits.
 * `repeat` counts from 0. A failure is an outcome; what is thrown counts as not assessed.
 */
export type ScriptRunner = (task: Task, script: Script | null, repeat: number) => Promise<ScriptRun>;

export interface CheckOptions {
  readonly runScript: ScriptRunner;
  /** Opens the generator of a folder. Throws `task_invalid`. */
  readonly openGenerator: (folder: string) => Promise<TaskGenerator>;
  readonly runtime: Runtime;
  /** How often each script is run; the design asks for 3. */
  readonly repeats: number;
  /** Most runs in flight at once, over all tasks that are checked with these options. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Told once for each report, as it is done. */
  readonly onReport?: (report: CheckReport) => void;
}

/** Seeds of a generator that are checked. */
const GENERATED_TASKS = 3;

/** Checks everything found at or below each root, in order. Throws `task_not_found` when a root holds nothing. */
export async function checkRoots(roots: readonly string[], options: CheckOptions): Promise<readonly CheckReport[]> {
  const all = (await Promise.all(roots.map(findTasks))).flat();
  const found = all.filter((entry, index) => index === all.findIndex((other) => isSameFolder(entry, other)));
  const limited = { ...options, runScript: atMost(options.concurrency, options.runScript) };
  const keys = new Map<string, string>();
  const reports: CheckReport[] = [];
  for (const entry of found) {
    const report = refuseTwin(await checkFound(entry, limited), keys);
    options.onReport?.(report);
    reports.push(report);
  }
  return reports;
}

/** Roots may overlap; what is found twice is checked once. */
function isSameFolder(a: FoundTask, b: FoundTask): boolean {
  return resolve(a.folder) === resolve(b.folder);
}

/** Checks one task folder or generator; one that cannot be read is a report too. Throws nothing. */
export async function checkFound(entry: FoundTask, options: CheckOptions): Promise<CheckReport> {
  try {
    if (entry.kind === "generator")
      return await checkGenerator(await options.openGenerator(entry.folder), entry.folder, options);
    const { task, warnings } = await readTask(entry.folder);
    return await checkTask(task, options, warnings);
  } catch (error) {
    const failure = toFailure(error);
    const isTask = failureClass(failure.code) === "task";
    const check = checkResult("folder-valid", { status: "fail", evidence: failure.message, ...placeOf(failure) });
    return {
      key: entry.path === "." ? entry.folder : entry.path,
      kind: entry.kind,
      folder: entry.folder,
      checks: [check],
      verdict: isTask ? "invalid" : "error",
    };
  }
}

/** Checks one task. `warnings` of its reader are shown and stop nothing. */
export async function checkTask(
  task: Task,
  options: CheckOptions,
  warnings: readonly string[] = [],
): Promise<CheckReport> {
  const checks = await taskChecks(task, options, warnings);
  return {
    key: task.key,
    kind: task.folder === null ? "generator" : "folder",
    folder: task.folder,
    checks,
    verdict: verdictOf(checks),
  };
}

/** Checks three tasks of a generator, over its splits: equal seeds must give equal tasks, and each must be honest. */
export async function checkGenerator(
  generator: TaskGenerator,
  folder: string,
  options: CheckOptions,
): Promise<CheckReport> {
  const reports: { key: string; checks: readonly CheckResult[] }[] = [];
  for (let index = 0; index < GENERATED_TASKS; index += 1) {
    const split = generator.splits[index % generator.splits.length] ?? "train";
    const request = { split, index, seed: BigInt(index + 1) };
    const task = generator.generate(request);
    const checks = await taskChecks(task, options, []);
    reports.push({ key: task.key, checks: [repeatable(task, generator.generate(request)), ...checks.slice(1)] });
  }
  const checks = mergedChecks(reports);
  return { key: `generator/${generator.name}`, kind: "generator", folder, checks, verdict: verdictOf(checks) };
}

function repeatable(task: Task, again: Task): CheckResult {
  const isEqual = task.hash === again.hash && task.instruction === again.instruction;
  return checkResult("folder-valid", {
    status: isEqual ? "pass" : "fail",
    evidence: isEqual ? "the same seed gives the same task" : "the same seed gave another task the second time",
  });
}

async function taskChecks(task: Task, options: CheckOptions, warnings: readonly string[]): Promise<CheckResult[]> {
  const repeats = Array.from({ length: options.repeats }, (_, index) => index);
  const runAll = (script: Script | null) => Promise.all(repeats.map((repeat) => runOne(task, script, repeat, options)));
  const timed = async <T>(work: Promise<T>): Promise<{ readonly value: T; readonly durationMs: number }> => {
    const startedAt = options.runtime.monotonic();
    return { value: await work, durationMs: options.runtime.monotonic() - startedAt };
  };
  const [oracle, nop, wrong, alternatives] = await Promise.all([
    timed(runAll(task.oracle)),
    timed(runAll(null)),
    timed(Promise.all(task.wrong.map(async (solution) => ({ solution, runs: await runAll(solution.script) })))),
    timed(Promise.all(task.alternatives.map(async (script) => ({ script, runs: await runAll(script) })))),
  ]);
  const manifest = manifestMatches(task);
  return [
    checkResult("folder-valid", folderValid(task, warnings)),
    checkResult("oracle-passes", oraclePasses(task, oracle.value), oracle.durationMs),
    checkResult("nop-fails", nopFails(nop.value), nop.durationMs),
    checkResult("oracle-stable", oracleStable(oracle.value)),
    checkResult("wrong-rejected", wrongRejected(task, wrong.value), wrong.durationMs),
    checkResult("alternatives-pass", alternativesPass(task, alternatives.value), alternatives.durationMs),
    checkResult("verifier-independent", verifierIndependent(task)),
    checkResult("test-manifest", manifest.status === "pass" ? testsReported(task, oracle.value, manifest) : manifest),
    checkResult("tests-assert", testsAssert(task)),
    checkResult("instruction-form", instructionForm(task)),
    checkResult("no-solution-text", noSolutionText(task)),
  ];
}

/** A run that throws ends like a failed one, so that the other runs and checks go on. */
async function runOne(task: Task, script: Script | null, repeat: number, options: CheckOptions): Promise<ScriptRun> {
  if (options.signal.aborted) return { outcome: { kind: "cancelled", cause: "user" }, tests: [] };
  try {
    return await options.runScript(task, script, repeat);
  } catch (error) {
    const { code, message } = toFailure(error);
    return { outcome: { kind: "failed", cause: "infra_before", failure: code, message }, tests: [] };
  }
}

function folderValid(task: Task, warnings: readonly string[]): Finding {
  const where = task.folder === null ? "generated" : task.folder;
  if (warnings.length === 0) return { status: "pass", evidence: `${where} was read whole` };
  return { status: "pass", evidence: `${where} was read, with ${warnings.length} warnings: ${warnings.join(" ")}` };
}

/** Two tasks of one key cannot be told apart in any record. */
function refuseTwin(report: CheckReport, keys: Map<string, string>): CheckReport {
  const first = keys.get(report.key);
  if (first === undefined || first === report.folder) {
    keys.set(report.key, report.folder ?? "");
    return report;
  }
  const evidence = `${report.folder}/task.toml: task.name = "${report.key}" is also the name of ${first}; rename one of them.`;
  const twin = checkResult("folder-valid", { status: "fail", evidence, file: `${report.folder}/task.toml` });
  const checks = report.checks.map((check) => (check.id === "folder-valid" ? twin : check));
  return { ...report, checks, verdict: verdictOf(checks) };
}

/** File and line a reader's message begins with. */
function placeOf(failure: Failure): { readonly file: string | null; readonly line: number | null } {
  const match = /^([^\s:]+)(?::(\d+))?: /.exec(failure.message);
  return { file: match?.[1] ?? null, line: match?.[2] === undefined ? null : Number(match[2]) };
}

/** The same runner with at most `count` calls in flight; the rest wait in order. */
function atMost(count: number, run: ScriptRunner): ScriptRunner {
  let free = Math.max(1, count);
  const waiting: (() => void)[] = [];
  return async (...call) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await run(...call);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
