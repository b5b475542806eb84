/**
 * Measures a policy on tasks: n episodes each, pass@1 with its interval, pass@k without bias, and every episode kept.
 * Infrastructure failures carry no reward and are shown apart, never as misses.
 */
import type { EpisodeRunner } from "../core/episode.ts";
import { Failure } from "../core/errors.ts";
import type { EventSink, PassRate } from "../core/events.ts";
import type { Policy } from "../core/policy.ts";
import { deriveSeed, floatsFrom } from "../core/random.ts";
import type { Runtime } from "../core/runtime.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import { bootstrapInterval, passAtK, passRate } from "../core/statistics.ts";
import type { Store, TrajectoryRow } from "../core/store.ts";
import { isSolved, type Task } from "../core/task.ts";
import { failureBudget } from "../rollout/failure-budget.ts";
import { runReadyEpisodes } from "../rollout/scheduler.ts";
import { groupSource, laySections } from "../rollout/source.ts";
import { failureWarnings } from "./failure-warnings.ts";
import { findingGroups } from "./finding-groups.ts";
import { progressBoard } from "./progress.ts";
import type { Recipe } from "./recipe.ts";
import type { EvaluateSummary } from "./report.ts";
import { countOutcomes } from "./summarize.ts";

/** The one section of an evaluation begins with this group; task `i` is group `i` further. */
const GROUP_FIRST = 1;

export interface EvaluateParts {
  readonly runId: string;
  readonly name: string;
  readonly recipeHash: string;
  readonly taskSet: string;
  readonly store: Store;
  readonly runtime: Runtime;
  readonly runEpisode: EpisodeRunner;
  readonly tasks: readonly Task[];
  readonly policyFor: (task: Task) => Policy;
  /** Files a policy brings with it: the oracle's own. */
  readonly filesFor: (task: Task) => readonly FileContent[];
  readonly episodesPerTask: number;
  /** Each at most `episodesPerTask`. */
  readonly k: readonly number[];
  readonly seed: number;
  readonly scheduler: Recipe["scheduler"];
  readonly sandboxesCreated: () => number;
  readonly dataFolder: string;
  readonly onEvent: EventSink;
  readonly drain: AbortSignal;
  readonly abort: AbortSignal;
}

/** The run must have been created and acquired. Throws `run_halted` when the failure budget is spent. */
export async function evaluate(parts: EvaluateParts): Promise<EvaluateSummary> {
  const { store, runId, runtime, tasks, episodesPerTask, onEvent } = parts;
  const startedAt = runtime.monotonic();
  const board = progressBoard(runtime, onEvent, parts.sandboxesCreated);
  const [section] = laySections([
    {
      name: "evaluate",
      phase: "eval",
      mode: "sampled",
      split: "eval",
      groupCount: tasks.length,
      groupSize: episodesPerTask,
    },
  ]);
  if (section === undefined) throw new Failure("config_invalid", "There is no task to evaluate.");
  const taskAt = (index: number): Task => {
    const task = tasks[index];
    if (task === undefined) throw new Failure("unexpected", `Task ${index} is not in this evaluation.`);
    return task;
  };
  onEvent({ kind: "run-started", runId, name: parts.name, folder: parts.dataFolder, isResumed: false });
  board.enter("evaluate", tasks.length * episodesPerTask, `${tasks.length} tasks, ${episodesPerTask} episodes each`);
  let state: "done" | "stopped" | "halted" = "done";
  try {
    await store.plan(
      runId,
      groupSource(parts.seed, (_section, index) => taskAt(index)).plan(section, 0, tasks.length, 0),
    );
    const end = await runReadyEpisodes({
      runId,
      store,
      runtime,
      runEpisode: parts.runEpisode,
      limits: parts.scheduler,
      budget: failureBudget(parts.scheduler),
      groupTo: GROUP_FIRST + tasks.length - 1,
      resolve: (lease) => {
        const task = taskAt(lease.groupNo - GROUP_FIRST);
        return {
          task,
          policy: parts.policyFor(task),
          extraFiles: parts.filesFor(task),
          taskSet: parts.taskSet,
          recipeHash: parts.recipeHash,
        };
      },
      onFinished: (_lease, record) => {
        board.advance();
        board.episodeEnded(record.document);
      },
      onFailed: failureWarnings(runtime, onEvent),
      drain: parts.drain,
      abort: parts.abort,
    });
    if (end === "drained") state = "stopped";
  } catch (error) {
    await store.updateRun(runId, { state: "halted", reason: error instanceof Error ? error.message : String(error) });
    throw error;
  } finally {
    board.close();
  }
  const rows = await store.episodes(runId);
  const findings = findingGroups(await store.findings({ runId }));
  const wallSeconds = (runtime.monotonic() - startedAt) / 1_000;
  const summary = { ...summarizeRows(rows, parts), findings, wallSeconds };
  await store.updateRun(runId, { state, summary: JSON.stringify(summary) });
  onEvent({ kind: "run-ended", runId, state });
  return summary;
}

/**
 * Pure: the figures of an evaluation from its rows. Tasks with fewer graded episodes than k are left out of pass@k, and
 * a k for which no task has enough is left out whole.
 */
export function summarizeRows(
  rows: readonly TrajectoryRow[],
  parts: Pick<EvaluateParts, "runId" | "tasks" | "k" | "seed" | "dataFolder">,
): Omit<EvaluateSummary, "wallSeconds"> {
  // By group and not by key: a generator may draw the same task twice.
  const byGroup = Map.groupBy(rows, (row) => row.groupNo);
  const byTask = parts.tasks.map((task, index) => {
    const graded = (byGroup.get(GROUP_FIRST + index) ?? []).flatMap((row) => (row.reward === null ? [] : [row.reward]));
    return {
      key: task.key,
      solved: graded.filter((reward) => isSolved(task, reward)).length,
      graded: graded.length,
      meanReward: graded.length === 0 ? null : graded.reduce((sum, reward) => sum + reward, 0) / graded.length,
    };
  });
  const draw = floatsFrom(deriveSeed(parts.seed, "bootstrap"));
  const passAtKs = parts.k.flatMap((k) => {
    const values = byTask.filter((task) => task.graded >= k).map((task) => passAtK(task.graded, task.solved, k));
    if (values.length === 0) return [];
    const value = values.reduce((sum, each) => sum + each, 0) / values.length;
    return [{ k, value, ...bootstrapInterval(values, draw) }];
  });
  return {
    runId: parts.runId,
    tasks: parts.tasks.length,
    episodes: rows.length,
    outcomes: countOutcomes(rows),
    passAt1: passAt1(byTask, draw),
    passAtK: passAtKs,
    byTask,
    dataFolder: parts.dataFolder,
  };
}

/**
 * Over all graded episodes. Several episodes of one task resemble each other, which Wilson's interval does not know: then
 * the bootstrap over tasks counts as well, and what is told covers both.
 */
function passAt1(
  byTask: readonly { readonly solved: number; readonly graded: number }[],
  draw: () => number,
): PassRate {
  const pooled = passRate(
    byTask.reduce((sum, task) => sum + task.solved, 0),
    byTask.reduce((sum, task) => sum + task.graded, 0),
  );
  if (byTask.every(({ graded }) => graded <= 1)) return pooled;
  const rates = byTask.filter(({ graded }) => graded > 0).map(({ solved, graded }) => solved / graded);
  const overTasks = bootstrapInterval(rates, draw);
  return { ...pooled, low: Math.min(pooled.low, overTasks.low), high: Math.max(pooled.high, overTasks.high) };
}
