/**
 * Judges the runs of a task's scripts: pure functions from outcomes to findings. A failed run is the task's fault only
 * where its failure says so; else the check is not assessed, which is never a pass.
 */
import { failureClass } from "../../core/errors.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { Script, Task, WrongSolution } from "../../core/task.ts";
import type { TestResult } from "../../core/verifier.ts";
import type { Finding } from "./check-contract.ts";

interface Run {
  readonly outcome: Outcome;
  readonly tests: readonly TestResult[];
}

const TOLERANCE = 1e-9;
const TESTS_NAMED_MAX = 5;
const DETAIL_CHARACTERS_MAX = 300;
/** A generated task is checked by more of them, since nobody read it. */
const WRONG_MIN = { written: 2, generated: 5 };

/** Check 3: every run of the oracle earns 1. */
export function oraclePasses(task: Task, runs: readonly Run[]): Finding {
  return earnsAll(runs, "the oracle", scriptFile(task, "solution"));
}

/** Check 4: every run that does nothing earns 0. */
export function nopFails(runs: readonly Run[]): Finding {
  const stopped = unfinished(runs, "doing nothing");
  if (stopped) return stopped;
  const paid = runs.map(rewardOf).find((reward) => reward !== 0);
  if (paid !== undefined) {
    const passed = runs.flatMap(({ tests }) => tests).filter(({ status }) => status === "passed");
    return {
      status: "fail",
      evidence: `doing nothing earned ${paid}; passing tests: ${named(passed.map(({ id }) => id))}`,
    };
  }
  return { status: "pass", evidence: `doing nothing earned 0 in ${runs.length} runs` };
}

/** Check 5: the runs of the oracle agree on the reward and on each test. */
export function oracleStable(runs: readonly Run[]): Finding {
  const stopped = unfinished(runs, "the oracle");
  if (stopped) return stopped;
  const [first, ...rest] = runs;
  if (first === undefined || rest.length === 0) {
    return { status: "not-assessed", evidence: "one run cannot show whether runs agree; ask for at least 2" };
  }
  const statuses = statusMap(first);
  for (const [index, run] of rest.entries()) {
    const other = statusMap(run);
    const flipped = [...new Set([...statuses.keys(), ...other.keys()])].filter(
      (id) => statuses.get(id) !== other.get(id),
    );
    if (flipped.length > 0) {
      return { status: "fail", evidence: `runs 1 and ${index + 2} of the oracle differ in ${named(flipped)}` };
    }
    if (rewardOf(run) !== rewardOf(first)) {
      const evidence = `runs 1 and ${index + 2} of the oracle earned ${rewardOf(first)} and ${rewardOf(run)}`;
      return { status: "fail", evidence };
    }
  }
  return { status: "pass", evidence: `${runs.length} runs agree on ${statuses.size} tests` };
}

/** Check 17: every wrong solution stays at or below its stated reward, below 1, and fails the tier it names. */
export function wrongRejected(
  task: Task,
  all: readonly { readonly solution: WrongSolution; readonly runs: readonly Run[] }[],
): Finding {
  const findings = all.map(({ solution, runs }) => rejected(task, solution, runs));
  const bad = findings.filter(({ status }) => status === "fail");
  if (bad.length > 0) return { ...bad[0], status: "fail", evidence: joined(bad) };
  const open = findings.filter(({ status }) => status === "not-assessed");
  if (open.length > 0) return { status: "not-assessed", evidence: joined(open) };
  const least = task.generator === null ? WRONG_MIN.written : WRONG_MIN.generated;
  if (all.length < least) {
    return {
      status: "fail",
      evidence: `${all.length} of at least ${least} wrong solutions are there; write wrong/NAME/solve.sh and wrong/NAME/expect.toml for each`,
    };
  }
  return { status: "pass", evidence: joined(findings) };
}

/** Check 18: every other correct solution earns 1, in every run. */
export function alternativesPass(
  task: Task,
  all: readonly { readonly script: Script; readonly runs: readonly Run[] }[],
): Finding {
  if (all.length === 0) return { status: "skip", evidence: "no alternative is shipped" };
  const findings = all.map(({ script, runs }) =>
    earnsAll(runs, `alternative ${script.name}`, scriptFile(task, `solution/alternative/${script.name}`)),
  );
  const worst = findings.find(({ status }) => status === "fail") ?? findings.find(({ status }) => status !== "pass");
  return worst ?? { status: "pass", evidence: joined(findings) };
}

/** The executed half of check 29: the oracle's runs report each listed test once, and skip none. */
export function testsReported(task: Task, runs: readonly Run[], ok: Finding): Finding {
  const stopped = unfinished(runs, "the oracle");
  if (stopped) return stopped;
  const listed = task.verifier.kind === "tests" ? task.verifier.manifest.map(({ id }) => id) : null;
  for (const { tests } of runs) {
    const reported = new Map(tests.map(({ id, status }) => [id, status]));
    const absent = (listed ?? []).filter((id) => (reported.get(id) ?? "missing") === "missing");
    if (absent.length > 0) return { status: "fail", evidence: `no result came for ${named(absent)}` };
    const skipped = tests.filter(({ status }) => status === "skipped").map(({ id }) => id);
    if (skipped.length > 0) return { status: "fail", evidence: `skipped: ${named(skipped)}` };
    if (tests.length === 0) return { status: "fail", evidence: "no test ran" };
  }
  return ok;
}

function rejected(task: Task, { script, rewardMax, failsTier }: WrongSolution, runs: readonly Run[]): Finding {
  const name = `wrong solution ${script.name}`;
  const file = scriptFile(task, `wrong/${script.name}`);
  const stopped = unfinished(runs, name, file);
  if (stopped) return stopped;
  const highest = Math.max(...runs.map(rewardOf));
  if (highest >= 1 - TOLERANCE || highest > rewardMax + TOLERANCE) {
    return { status: "fail", evidence: `${name} earned ${shown(highest)}, above its limit of ${rewardMax}`, file };
  }
  if (failsTier !== null && !runs.every((run) => failed(run, failsTier))) {
    return { status: "fail", evidence: `${name} passed the tier ${failsTier}, which it must fail`, file };
  }
  return { status: "pass", evidence: `${name} earned ${shown(highest)} of at most ${rewardMax}` };
}

/** A test of the tier failed, or what was measured of it is less than was asked for. */
function failed({ outcome, tests }: Run, tier: string): boolean {
  if (tests.some((test) => test.tier === tier && test.status !== "passed")) return true;
  const scores = outcome.kind === "graded" ? outcome.scores : [];
  return scores.some((score) => score.tier === tier && (score.value ?? 0) < 1);
}

function earnsAll(runs: readonly Run[], name: string, file: string | null): Finding {
  const stopped = unfinished(runs, name, file);
  if (stopped) return stopped;
  for (const [index, run] of runs.entries()) {
    if (rewardOf(run) >= 1 - TOLERANCE) continue;
    const failing = run.tests.filter(({ status }) => status !== "passed");
    if (failing.length === 0) {
      const evidence = `run ${index + 1} of ${name} earned ${shown(rewardOf(run))} though no test failed: what is measured or judged gave less than 1; make it as fast as the reference, or widen the tier's noise`;
      return { status: "fail", evidence, file };
    }
    // A runner that could not load a file reports nothing of it, and says why with the first test of all.
    const speaker = failing[0]?.status === "missing" ? run.tests[0] : failing[0];
    const detail = (speaker?.detail ?? "")
      .trim()
      .replaceAll(/\s*\n\s*/g, " ")
      .slice(0, DETAIL_CHARACTERS_MAX);
    const evidence =
      `run ${index + 1} of ${name} earned ${shown(rewardOf(run))}; failing tests: ${named(failing.map(({ id }) => id))}` +
      (detail === "" ? "" : ` (${detail})`);
    return { status: "fail", evidence, file };
  }
  return { status: "pass", evidence: `${name} earned 1 in ${runs.length} runs` };
}

/** What to say when a run has no verdict: the task's own fault fails, all else leaves the check open. */
function unfinished(runs: readonly Run[], name: string, file: string | null = null): Finding | null {
  const failed = runs.flatMap(({ outcome }) => (outcome.kind === "failed" ? [outcome] : []));
  const ofTask = failed.find(({ failure }) => failureClass(failure) === "task");
  if (ofTask) return { status: "fail", evidence: `${name} could not run: ${ofTask.message}`, file };
  const [other] = failed;
  if (other)
    return { status: "not-assessed", evidence: `${name} has no verdict: ${other.failure}: ${other.message}`, file };
  if (runs.length === 0) return { status: "not-assessed", evidence: `${name} was not run` };
  const isCancelled = runs.some(({ outcome }) => outcome.kind === "cancelled");
  return isCancelled ? { status: "not-assessed", evidence: `${name} was stopped before its verdict`, file } : null;
}

function rewardOf({ outcome }: Run): number {
  return outcome.kind === "graded" ? outcome.reward : 0;
}

function statusMap({ tests }: Run): ReadonlyMap<string, string> {
  return new Map(tests.map(({ id, status }) => [id, status]));
}

function scriptFile(task: Task, root: string): string | null {
  return task.folder === null ? null : `${task.folder}/${root}/solve.sh`;
}

function joined(findings: readonly Finding[]): string {
  return findings.map(({ evidence }) => evidence).join("; ");
}

function named(ids: readonly string[]): string {
  const unique = [...new Set(ids)];
  const rest = unique.length - TESTS_NAMED_MAX;
  if (unique.length === 0) return "none";
  return rest > 0 ? `${unique.slice(0, TESTS_NAMED_MAX).join(", ")} and ${rest} more` : unique.join(", ");
}

function shown(reward: number): string {
  return String(Math.round(reward * 1_000) / 1_000);
}
