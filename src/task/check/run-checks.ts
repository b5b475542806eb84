/**
 * The engine of `sandlot task check`: runs every check of a profile on a task, in parallel within the machine's share,
 * and gives one report. A check that cannot be assessed is open, one that breaks is our error, and neither stops the
 * others. The worst result of a task hash stays until the task changes.
 */
import { type Failure, toFailure } from "../../core/errors.ts";
import type { JudgeEndpoint } from "../../core/judge.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import type { Task } from "../../core/task.ts";
import type { FolderFile } from "../../core/task-folder.ts";
import { includesProfile } from "./catalogue.ts";
import type { Check, CheckContext, Finding, PastEpisode, PeerTask, Profile } from "./check-contract.ts";
import { type CheckMemory, countedFlips, finalResult, rememberedFault, rowOfResult } from "./check-memory.ts";
import { type CheckReport, type CheckResult, checkResult, flakeRate, totalCost, verdictOf } from "./check-report.ts";
import { CHECKS } from "./registry.ts";
import { type Account, RunLedger, type ScriptRunner } from "./run-ledger.ts";

/** What checks are run with. Both ports hold back what would exceed the machine's share. */
export interface CheckOptions {
  readonly profile: Profile;
  readonly runScript: ScriptRunner;
  /** A sandbox as the agent first meets it, set-up done; destroyed afterwards. */
  readonly withAgentSandbox: <T>(task: Task, signal: AbortSignal, work: (sandbox: Sandbox) => Promise<T>) => Promise<T>;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  /** Wall clock of one task; what is not done by then is not assessed. */
  readonly taskMs: number;
  /** Null where no judge was named. */
  readonly judge: JudgeEndpoint | null;
  readonly judgeAnswer?: NonNullable<CheckContext["judgeAnswer"]>;
  readonly history: (task: Task) => Promise<readonly PastEpisode[]>;
  /** Null remembers nothing. */
  readonly memory: CheckMemory | null;
  /** Takes final results of this very task from the memory and runs the others alone. */
  readonly isResumed: boolean;
  /** Lets nothing count that earlier runs found of these tasks. */
  readonly isForgetting: boolean;
  /** Only these checks; the others of the profile count as not assessed. Empty: all. */
  readonly only: readonly string[];
  /** The checks there are; all 51 where it is left out. */
  readonly checks?: readonly Check[];
}

/** A task with all that its checks may look at. */
export interface CheckedTask {
  readonly task: Task;
  readonly files: readonly FolderFile[] | null;
  /** What its reader noticed; shown, and stops nothing. */
  readonly warnings: readonly string[];
  readonly peers: readonly PeerTask[];
}

/** Checks one task. Throws nothing but for a memory that cannot be written. */
export async function checkTask(checked: CheckedTask, options: CheckOptions): Promise<CheckReport> {
  const { task } = checked;
  const { profile, runtime, memory } = options;
  const startedAt = runtime.monotonic();
  if (options.isForgetting) await memory?.forget(task.hash);
  const limit = timeLimit(options);
  try {
    const ledger = new RunLedger({ task, run: options.runScript, runtime, signal: limit.signal });
    const wanted = (options.checks ?? CHECKS).filter((check) => includesProfile(profile, check.profile));
    const results = await Promise.all(wanted.map((check) => settled(check, checked, ledger, limit.signal, options)));
    const checks = results.map((result) => worst(waived(result, task), task, memory)).sort(byNumber);
    const fresh = await ledger.flips();
    const before = countedFlips(memory?.rows(task.hash) ?? []);
    const flake = flakeRate(before.runs + fresh.runs, before.flips + fresh.flips);
    await remember(task, results, fresh, options);
    const isQuarantined = flake?.isQuarantined ?? false;
    return {
      key: task.key,
      kind: task.folder === null ? "generator" : "folder",
      folder: task.folder,
      hash: task.hash,
      isUnreadable: false,
      profile,
      verdict: verdictOf(checks, profile, { isTimedOut: limit.isPassed(), isQuarantined }),
      checks,
      flake,
      ...totalCost(checks),
      durationMs: runtime.monotonic() - startedAt,
    };
  } finally {
    limit.end();
  }
}

/** One check of one task: remembered, left out, or run. */
async function settled(
  check: Check,
  checked: CheckedTask,
  ledger: RunLedger,
  signal: AbortSignal,
  options: CheckOptions,
): Promise<CheckResult> {
  const { task } = checked;
  if (options.only.length > 0 && !options.only.includes(check.id)) {
    return checkResult(check, { status: "not-assessed", evidence: "left out by --only" });
  }
  const known = options.isResumed ? finalResult(options.memory?.rows(task.hash) ?? [], check.id) : null;
  if (known !== null) return { ...checkResult(check, known), isRemembered: true };
  if (signal.aborted) return checkResult(check, stopped(signal));
  const startedAt = options.runtime.monotonic();
  const account: Account = { episodes: 0, sandboxMs: 0 };
  const cost = () => ({ ...account, durationMs: options.runtime.monotonic() - startedAt });
  try {
    const finding = await check.check(contextOf(checked, ledger, account, signal, options));
    // What was stopped half way has seen too little to pass, and too little to be blamed on the task.
    return checkResult(check, signal.aborted && check.method !== "static" ? stopped(signal) : finding, cost());
  } catch (error) {
    const failure = toFailure(error);
    if (signal.aborted) return checkResult(check, stopped(signal), cost());
    const finding: Finding = { status: "not-assessed", evidence: `${failure.code}: ${failure.message}` };
    return { ...checkResult(check, finding, cost()), isBroken: failure.code === "unexpected" };
  }
}

function contextOf(
  { task, files, warnings, peers }: CheckedTask,
  ledger: RunLedger,
  account: Account,
  signal: AbortSignal,
  options: CheckOptions,
): CheckContext {
  const { profile, runtime, judge, judgeAnswer } = options;
  return {
    task,
    files,
    warnings,
    profile,
    runtime,
    signal,
    judge,
    peers,
    ...(judgeAnswer === undefined ? {} : { judgeAnswer }),
    runs: (request, count) => ledger.runs(request, count, account),
    withAgentSandbox: (work, changed = task) =>
      options.withAgentSandbox(changed, signal, async (sandbox) => {
        const startedAt = runtime.monotonic();
        try {
          return await work(sandbox);
        } finally {
          account.sandboxMs += runtime.monotonic() - startedAt;
        }
      }),
    history: () => options.history(task),
  };
}

function waived(result: CheckResult, task: Task): CheckResult {
  if (result.status !== "fail" || result.severity === "E") return result;
  const waiver = (task.waivers ?? []).find(({ check }) => check === result.id);
  return waiver === undefined ? result : { ...result, waiver: waiver.reason };
}

/** A fault that an earlier run of the same task hash found stays, whatever this run saw; what is only read is read anew. */
function worst(result: CheckResult, task: Task, memory: CheckMemory | null): CheckResult {
  if (memory === null || result.status === "fail" || result.method === "static") return result;
  const fault = rememberedFault(memory.rows(task.hash), result.id);
  if (fault === null) return result;
  const evidence = `an earlier run of this very task failed it (${fault.evidence}); change the task, or run with --forget`;
  return waived({ ...result, ...pick(fault), evidence, isRemembered: true }, task);
}

function pick({ status, severity, file, line }: Pick<CheckResult, "status" | "severity" | "file" | "line">) {
  return { status, severity, file, line };
}

async function remember(
  task: Task,
  results: readonly CheckResult[],
  fresh: { readonly runs: number; readonly flips: number },
  { memory, profile, runtime, only }: CheckOptions,
): Promise<void> {
  if (memory === null) return;
  const how = { profile, version: memory.version, at: runtime.now() };
  const isNew = ({ id, isRemembered }: CheckResult) => !isRemembered && (only.length === 0 || only.includes(id));
  const rows = results.filter(isNew).map((result) => rowOfResult(result, task, how));
  const [any] = rows;
  if (any === undefined) return;
  const flake = { ...any, ...fresh, check: "flake", status: "pass" as const, evidence: "", file: null, line: null };
  await memory.remember(fresh.runs > 0 ? [...rows, flake] : rows);
}

/** A task's own share of the run's time: its signal aborts with the run's, or when its time is over. */
function timeLimit({ signal, taskMs, runtime }: CheckOptions) {
  const controller = new AbortController();
  let hasPassed = false;
  const cancel = runtime.timer(taskMs, () => {
    hasPassed = true;
    controller.abort(`not done after ${Math.round(taskMs / 1_000)} s, the time of one task`);
  });
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    isPassed: () => hasPassed,
    end: cancel,
  };
}

function stopped(signal: AbortSignal): Finding {
  const why = typeof signal.reason === "string" ? signal.reason : "stopped before it was done";
  return { status: "not-assessed", evidence: why };
}

function byNumber(a: CheckResult, b: CheckResult): number {
  return a.number - b.number;
}

/** File and line a reader's message begins with. */
export function placeOf(failure: Failure): { readonly file: string | null; readonly line: number | null } {
  const match = /^([^\s:]+)(?::(\d+))?: /.exec(failure.message);
  return { file: match?.[1] ?? null, line: match?.[2] === undefined ? null : Number(match[2]) };
}
