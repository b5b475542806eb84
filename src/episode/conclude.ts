/**
 * What follows once an episode has ended and before its record is handed over: the detectors read it, a few verdicts
 * are given a second time, and a fault of the verifier is held against the oracle. Only here a finding reaches an
 * outcome, and only deterministic evidence does.
 */
import type { DetectEpisode } from "../core/detector.ts";
import type { EpisodePlan } from "../core/episode.ts";
import { toFailure } from "../core/errors.ts";
import type { Evidence, Finding } from "../core/finding.ts";
import { type CheatingRule, type Outcome, punished } from "../core/outcome.ts";
import { deriveSeed } from "../core/random.ts";
import { isSolved, type Script, type Task } from "../core/task.ts";
import type { Trajectory, TrajectoryRecord } from "../core/trajectory.ts";
import type { Artifacts, Verdict, VerdictMemory } from "../core/verifier.ts";
import { differenceOf } from "./compare-verdicts.ts";
import { type Grader, isOfNothing } from "./grade.ts";
import type { RewardJumps } from "./reward-jumps.ts";

/** What is done to an episode that has ended. */
export interface ConcludeOptions {
  /** Absent: nothing is detected. */
  readonly detect?: DetectEpisode;
  /** What a punished finding costs; default zero. */
  readonly cheating?: CheatingRule;
  /** Share of graded episodes whose verdict is given twice, beside those that must be; default 0, then none is. */
  readonly reverifyShare?: number;
  /** Runs a task's oracle, to tell a broken verifier from a subject that breaks it; absent: it is never asked. */
  readonly oraclePasses?: (task: Task, signal: AbortSignal) => Promise<boolean>;
}

/** The same with what it needs. */
export interface ConcludeParts extends ConcludeOptions {
  readonly grader: Grader;
  readonly verdicts: VerdictMemory;
  readonly jumps: RewardJumps;
}

/** What an episode left besides its record. */
export interface Ended {
  readonly plan: EpisodePlan;
  readonly record: TrajectoryRecord;
  readonly artifacts: Artifacts | null;
  readonly verdict: Verdict | null;
}

/** The final record. Never throws: what goes wrong here is noted in `extra` and takes nothing from the episode. */
export async function concluded(ended: Ended, parts: ConcludeParts, signal: AbortSignal): Promise<TrajectoryRecord> {
  const found = withFindings(ended, parts);
  const { outcome } = found.document;
  if (signal.aborted || outcome.kind === "cancelled") return found;
  if (outcome.kind === "graded") return reverified(ended, found, parts, signal);
  return outcome.cause === "verifier_fault" ? suspected(ended, found, parts, signal) : found;
}

function withFindings({ plan, record }: Ended, { detect, cheating }: ConcludeParts): TrajectoryRecord {
  if (detect === undefined) return record;
  const { document, bodies } = record;
  try {
    const body = (hash: string): Uint8Array | null => bodies.get(hash) ?? null;
    const { findings, failed } = detect({ document, body, evidence: evidenceOf(document, body), task: plan.task });
    const outcome = outcomeAfter(document.outcome, findings, cheating ?? { kind: "zero" });
    return {
      ...noted(record, failed.length === 0 ? {} : { detectorsFailed: failed }, outcome),
      findings: [...record.findings, ...findings],
    };
  } catch (error) {
    return noted(record, { detectionFailed: toFailure(error).message });
  }
}

/** A graded outcome becomes `cheating` by a finding that is punished; no other outcome changes by any. */
export function outcomeAfter(outcome: Outcome, findings: readonly Finding[], rule: CheatingRule): Outcome {
  const isCheating = findings.some(({ tier, isPunished }) => tier === "A" && isPunished);
  return outcome.kind === "graded" && isCheating ? punished(outcome, rule) : outcome;
}

/** The evidence a record names, or null where it has none. */
export function evidenceOf(document: Trajectory, body: (hash: string) => Uint8Array | null): Evidence | null {
  // Records of schema 1.0 have no such field.
  const bytes = (document.evidenceBlob ?? null) === null ? null : body(document.evidenceBlob ?? "");
  return bytes === null ? null : (JSON.parse(new TextDecoder().decode(bytes)) as Evidence);
}

type Reason = "sample" | "tier-b" | "reward-jump";

/**
 * Two verdicts on the same state that differ leave the episode without a reward, and its task to be looked at: unless the
 * first was the lower one. A product that answers at random must not get rid of a low reward by that.
 */
async function reverified(
  ended: Ended,
  record: TrajectoryRecord,
  parts: ConcludeParts,
  signal: AbortSignal,
): Promise<TrajectoryRecord> {
  const { plan, artifacts, verdict } = ended;
  const reason = reasonToReverify(record, plan, parts);
  if (reason === null || artifacts === null || verdict === null || isOfNothing(verdict)) return record;
  try {
    const again = await parts.grader.grade({
      task: plan.task,
      artifacts,
      gradingSeed: plan.gradingSeed,
      attemptId: `${plan.episodeId}-${plan.attempt}-again`,
      fence: plan.fence,
      mayReuse: false,
      signal,
    });
    const difference = differenceOf(plan.task, verdict, again);
    const note = { reverification: { reason, isEqual: difference === null, total: again.total } };
    if (difference === null) return noted(record, note);
    parts.verdicts.forget(verdict.identity);
    if (verdict.total <= again.total && !isSolved(plan.task, verdict.total))
      return { ...noted(record, note), findings: [...record.findings, unstableFinding(difference)] };
    const message = `Task ${plan.task.key} was graded twice on the same state with different verdicts: ${difference}. Its tests under tests/ depend on something beside that state; the task is set aside in this run.`;
    return noted(record, note, { kind: "failed", cause: "verifier_fault", failure: "verdict_unstable", message });
  } catch (error) {
    return noted(record, { reverification: { reason, fault: toFailure(error).message } });
  }
}

function reasonToReverify(record: TrajectoryRecord, plan: EpisodePlan, parts: ConcludeParts): Reason | null {
  const { outcome } = record.document;
  const share = parts.reverifyShare ?? 0;
  if (plan.isGradedTwice === true && outcome.kind === "graded" && outcome.cause !== "policy_fault") return "sample";
  if (share === 0 || outcome.kind !== "graded" || outcome.cause === "policy_fault") return null;
  const isJump = parts.jumps.sees(plan.task, outcome.reward);
  if (record.findings.some(({ tier }) => tier === "B")) return "tier-b";
  if (isJump) return "reward-jump";
  // Equal runs choose equal episodes.
  const draw = Number(deriveSeed("re-verify", plan.samplingSeed, plan.gradingSeed) >> 11n) / 2 ** 53;
  return draw < share ? "sample" : null;
}

/** A verifier that fails on this state, again and again, and passes its oracle, may have been made to fail. */
async function suspected(
  { plan }: Ended,
  record: TrajectoryRecord,
  { oraclePasses }: ConcludeParts,
  signal: AbortSignal,
): Promise<TrajectoryRecord> {
  const { outcome } = record.document;
  if (outcome.kind !== "failed" || outcome.failure === "verdict_unstable" || oraclePasses === undefined) return record;
  if (!(await oraclePasses(plan.task, signal).catch(() => false))) return record;
  const summary = "the verifier failed on this state each time it was graded, and passes the oracle";
  const finding = suspicion("verifier-fault-suspect", 9, summary, outcome.message);
  return { ...record, findings: [...record.findings, finding] };
}

/** Behaviour that differs from one grading to the next. */
function unstableFinding(difference: string): Finding {
  return suspicion("verdict-unstable", 27, "two gradings of the same state gave different verdicts", difference);
}

function suspicion(detector: string, pattern: number, summary: string, evidence: string): Finding {
  return {
    ...{ detector, detectorVersion: 1, tier: "B", pattern, effect: "attempted", isPunished: false, summary },
    ...{ turn: null, file: null, line: null },
    evidence: evidence
      .split("\n")
      .slice(0, 10)
      .map((line) => line.slice(0, 300)),
  };
}

/** The record with more in `extra`, and another outcome where one is given. */
function noted(
  record: TrajectoryRecord,
  extra: Readonly<Record<string, unknown>>,
  outcome?: Outcome,
): TrajectoryRecord {
  const { document } = record;
  const changed = { ...document, outcome: outcome ?? document.outcome, extra: { ...document.extra, ...extra } };
  return { ...record, document: changed };
}

/** A script's plan in place of a policy's: same task, same hidden inputs, its own sandboxes. */
export function oraclePlan(task: Task, policyOf: (script: Script) => EpisodePlan["policy"], id: string): EpisodePlan {
  return {
    runId: id,
    groupId: id,
    episodeId: id,
    member: 0,
    attempt: 1,
    fence: 1,
    taskSet: "oracle",
    split: "oracle",
    task,
    policy: policyOf(task.oracle),
    samplingSeed: 0n,
    gradingSeed: task.gradingSeed === "fresh" ? deriveSeed("oracle", task.key) : task.gradingSeed,
    recipeHash: "",
    queuedMs: 0,
    mayReuseVerdict: false,
    extraFiles: task.oracle.files,
  };
}

/** Whether an oracle's record says that the task can be graded. */
export function isOraclePassed(task: Task, { outcome }: Pick<Trajectory, "outcome">): boolean {
  return outcome.kind === "graded" && isSolved(task, outcome.reward);
}
