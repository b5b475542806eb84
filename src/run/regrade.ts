/**
 * Grades the stored states of a run again, without the policy: a verifier changes more often than what it grades. The
 * new verdicts stand beside the old ones; what an episode trained or trains on changes only when they are adopted.
 */
import { Failure, type FailureCode, toFailure } from "../core/errors.ts";
import type { PassRate } from "../core/events.ts";
import type { ScoreVector } from "../core/outcome.ts";
import { deriveSeed, floatsFrom } from "../core/random.ts";
import { bootstrapInterval, passRate } from "../core/statistics.ts";
import type { Regrade, Store, TrajectoryRow } from "../core/store.ts";
import { isSolved, type Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Artifacts, Verdict } from "../core/verifier.ts";
import { type Grader, isOfNothing, verdictOfNothing } from "../episode/grade.ts";
import { gradedOutcome } from "../episode/outcome.ts";
import { storedState } from "../episode/stored-state.ts";
import { isCleared } from "./quarantine.ts";

/** What grading a stored run again needs. */
export interface RegradeParts {
  readonly runId: string;
  readonly regradeId: string;
  readonly store: Store;
  /** Should remember nothing from before: a verdict in memory would be no second one. */
  readonly grader: Grader;
  /** The task whose verifier grades now; null where there is none of its key. */
  readonly taskOf: (row: TrajectoryRow) => Task | null;
  /** Gradings at once. */
  readonly concurrency: number;
  /** Whether training takes the new rewards from now on. */
  readonly isAdopted: boolean;
  readonly onDone: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** One episode that another verdict changed. */
export interface RegradeChange {
  readonly episodeNo: number;
  readonly taskKey: string;
  /** Null for an episode that had not been graded. */
  readonly before: number | null;
  readonly after: number;
  readonly tiers: readonly { readonly tier: string; readonly before: number | null; readonly after: number | null }[];
}

/** What changed; `sandlot regrade --json` prints it. */
export interface RegradeReport {
  readonly runId: string;
  readonly regradeId: string;
  /** Episodes that have a verdict now. */
  readonly episodes: number;
  readonly changes: readonly RegradeChange[];
  readonly failures: readonly {
    readonly episodeNo: number;
    readonly taskKey: string;
    readonly code: FailureCode;
    readonly message: string;
  }[];
  /** Episodes without a state to grade: they failed before it was collected. */
  readonly skipped: number;
  readonly byTier: readonly {
    readonly tier: string;
    readonly episodes: number;
    readonly before: number;
    readonly after: number;
    readonly changed: number;
  }[];
  readonly before: PassRate;
  readonly after: PassRate;
  /** Of the pass rates over the episodes with both verdicts, after minus before; 95 % interval by bootstrap. */
  readonly difference: { readonly value: number; readonly low: number; readonly high: number };
  readonly isAdopted: boolean;
}

/** What one episode was given before and is given now. */
interface Pair {
  readonly row: TrajectoryRow;
  readonly task: Task;
  readonly before: number | null;
  readonly scoresBefore: ScoreVector;
  readonly after: number;
  readonly scoresAfter: ScoreVector;
}

/** Throws `cancelled` when stopped; what was graded until then is kept under its regrade id. */
export async function regradeRun(parts: RegradeParts): Promise<RegradeReport> {
  const { store, runId, regradeId } = parts;
  const rows = (await store.episodes(runId)).filter(
    (row) => row.outcome === "graded" || row.cause === "verifier_fault",
  );
  const pairs: Pair[] = [];
  const failures: { episodeNo: number; taskKey: string; code: FailureCode; message: string }[] = [];
  let skipped = 0;
  let done = 0;
  await inParallel(rows, parts.concurrency, async (row) => {
    if (parts.signal.aborted) throw stopped(parts, pairs.length, rows.length);
    const { episodeNo, taskKey } = row;
    try {
      const graded = await regradeOne(parts, row);
      if (graded === null) skipped += 1;
      else {
        await store.addRegrades(runId, regradeId, [graded.regrade]);
        pairs.push(graded.pair);
      }
    } catch (error) {
      const { code, message } = toFailure(error);
      if (parts.signal.aborted) throw stopped(parts, pairs.length, rows.length);
      if (code === "store_locked") throw error;
      failures.push({ episodeNo, taskKey, code, message });
      const failed = { episodeNo, verifierHash: "", reward: null, verdict: null, failure: { code, message } };
      await store.addRegrades(runId, regradeId, [failed]);
    }
    done += 1;
    parts.onDone(done, rows.length);
  });
  const isAdopted = parts.isAdopted && pairs.length > 0;
  if (isAdopted) await store.adoptRegrade(runId, regradeId);
  return { runId, regradeId, failures, skipped, isAdopted, ...regradeFigures(pairs) };
}

function stopped({ regradeId, signal }: RegradeParts, graded: number, total: number): Failure {
  const text = `The regrade was stopped after ${graded} of ${total} episodes. Their verdicts are kept as regrade ${regradeId}; none is adopted.`;
  return new Failure("cancelled", text, { cause: signal.reason });
}

async function regradeOne(
  parts: RegradeParts,
  row: TrajectoryRow,
): Promise<{ readonly regrade: Regrade; readonly pair: Pair } | null> {
  const stored = await parts.store.trajectory(parts.runId, row.episodeNo);
  const artifacts = stored === null ? null : await storedState(stored);
  if (stored === null || artifacts === null) return null;
  const { document } = stored;
  const task = parts.taskOf(row);
  if (task === null) {
    throw new Failure("task_not_found", `There is no task ${row.taskKey} among the tasks of this verifier.`);
  }
  if (task.agentHash !== document.task.agentHash) {
    throw new Failure(
      "task_invalid",
      `Task ${task.key} has changed in more than its tests since episode ${document.id}: what its agent met is not there any more.`,
    );
  }
  const verdict = await verdictOn(parts, row, document, task, artifacts);
  const { episodeNo } = row;
  const isHonest = isCleared(await parts.store.findings({ runId: parts.runId, episodeNo }));
  const reward = rewardAfter(document, task, verdict, isHonest);
  return {
    regrade: { episodeNo, verifierHash: task.verifierHash, reward, verdict, failure: null },
    pair: {
      row,
      task,
      before: row.reward,
      scoresBefore: document.outcome.kind === "graded" ? document.outcome.scores : [],
      after: reward,
      scoresAfter: verdict.scores,
    },
  };
}

function verdictOn(
  { grader, regradeId, signal }: RegradeParts,
  row: TrajectoryRow,
  document: Trajectory,
  task: Task,
  artifacts: Artifacts,
): Promise<Verdict> | Verdict {
  const gradingSeed = BigInt(document.seeds.verifier);
  if (document.verification !== null && isOfNothing(document.verification)) {
    return verdictOfNothing(task, gradingSeed, document.verification.identity);
  }
  const attemptId = `${regradeId}-${row.episodeNo}`;
  return grader.grade({ task, artifacts, gradingSeed, attemptId, fence: 1, mayReuse: true, signal });
}

/**
 * What the episode earns by this verdict. How it ended does not change with a verifier, nor what it was punished for,
 * unless a person has cleared it of that.
 */
function rewardAfter({ outcome, turns }: Trajectory, task: Task, verdict: Verdict, isHonest: boolean): number {
  if (outcome.kind === "graded" && outcome.cause === "cheating" && !isHonest) return outcome.reward;
  const last = turns.findLast((turn) => turn.milestones !== null)?.milestones ?? null;
  return gradedOutcome(outcome.kind === "graded" ? outcome.stopReason : "submitted", verdict, task, last).reward;
}

/** Pure: what changed, by episode and by tier. */
function regradeFigures(
  pairs: readonly Pair[],
): Omit<RegradeReport, "runId" | "regradeId" | "failures" | "skipped" | "isAdopted"> {
  const ordered = [...pairs].sort((a, b) => a.row.episodeNo - b.row.episodeNo);
  const both = ordered.filter(({ before }) => before !== null);
  const solved = ({ task }: Pair, reward: number | null): number => (reward !== null && isSolved(task, reward) ? 1 : 0);
  const differences = both.map((pair) => solved(pair, pair.after) - solved(pair, pair.before));
  const value = differences.length === 0 ? 0 : differences.reduce((sum, each) => sum + each, 0) / differences.length;
  const draw = floatsFrom(deriveSeed("regrade"));
  const interval = differences.length === 0 ? { low: 0, high: 0 } : bootstrapInterval(differences, draw);
  const rate = (of: readonly Pair[], reward: (pair: Pair) => number | null): PassRate =>
    passRate(of.filter((pair) => solved(pair, reward(pair)) === 1).length, of.length);
  return {
    episodes: pairs.length,
    changes: ordered.flatMap(changeOf),
    byTier: tiersOf(both),
    before: rate(both, ({ before }) => before),
    after: rate(ordered, ({ after }) => after),
    difference: { value, ...interval },
  };
}

function changeOf(pair: Pair): RegradeChange[] {
  const { row, before, after } = pair;
  const tiers = tierPairs(pair).filter((tier) => tier.before !== tier.after);
  if (before === after && tiers.length === 0) return [];
  return [{ episodeNo: row.episodeNo, taskKey: row.taskKey, before, after, tiers }];
}

function tierPairs({ scoresBefore, scoresAfter }: Pair): RegradeChange["tiers"] {
  const names = [...new Set([...scoresBefore, ...scoresAfter].map(({ tier }) => tier))];
  const valueIn = (scores: ScoreVector, name: string): number | null =>
    scores.find(({ tier }) => tier === name)?.value ?? null;
  return names.map((tier) => ({ tier, before: valueIn(scoresBefore, tier), after: valueIn(scoresAfter, tier) }));
}

function tiersOf(pairs: readonly Pair[]): RegradeReport["byTier"] {
  const byName = Map.groupBy(pairs.flatMap(tierPairs), ({ tier }) => tier);
  const mean = (values: readonly (number | null)[]): number =>
    values.reduce((sum: number, value) => sum + (value ?? 0), 0) / Math.max(1, values.length);
  return [...byName].map(([tier, each]) => ({
    tier,
    episodes: each.length,
    before: mean(each.map(({ before }) => before)),
    after: mean(each.map(({ after }) => after)),
    changed: each.filter(({ before, after }) => before !== after).length,
  }));
}

/** At most `concurrency` at once; the first that throws ends the rest. */
async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, concurrency) }, worker));
}
