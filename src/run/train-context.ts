/** What the phases of one training run share: the parts handed in, the sections planned, the snapshot now sampled from. */
import type { EpisodeRunner } from "../core/episode.ts";
import { Failure } from "../core/errors.ts";
import type { EventSink } from "../core/events.ts";
import type { Policy } from "../core/policy.ts";
import type { PolicySnapshot, PolicyTrainer, TrainSequence } from "../core/policy-backend.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Store } from "../core/store.ts";
import type { Task, TaskCell } from "../core/task.ts";
import type { AdvantageEstimator, Batch, BatchItem, Trainer } from "../core/training.ts";
import { failureBudget } from "../rollout/failure-budget.ts";
import { runReadyEpisodes, type SchedulerEnd } from "../rollout/scheduler.ts";
import { cellOfReference, groupSource, type SamplingMode, type Section } from "../rollout/source.ts";
import { cellChooser } from "./cell-chooser.ts";
import { failureWarnings } from "./failure-warnings.ts";
import type { ProgressBoard } from "./progress.ts";
import type { Recipe } from "./recipe.ts";
import { sectionOf, trainSections } from "./sections.ts";
import { addTotals, type RunTotals, writeTotals } from "./totals.ts";

export interface TrainParts {
  readonly runId: string;
  readonly recipe: Recipe;
  readonly recipeHash: string;
  readonly taskSet: string;
  readonly isResumed: boolean;
  readonly store: Store;
  readonly runtime: Runtime;
  readonly runEpisode: EpisodeRunner;
  readonly trainer: Trainer;
  readonly weights: PolicyTrainer;
  /** Names of stored checkpoints, oldest first. */
  readonly checkpoints: () => Promise<readonly string[]>;
  /** A task of a split by its position, drawn from a cell where a curriculum named one; pure. */
  readonly taskAt: (split: string, index: number, cell: TaskCell | null) => Task;
  /** Cells the training split is drawn from by a curriculum; null where the recipe wants none. */
  readonly cells: readonly TaskCell[] | null;
  /** The policy that samples from `snapshot`. */
  readonly policyAt: (snapshot: PolicySnapshot, mode: SamplingMode) => Policy;
  /** Sets the snapshot that KL is measured against. */
  readonly setReference: (snapshot: PolicySnapshot) => void;
  /** Demonstrations as trainable sequences, in a fixed order. */
  readonly demonstrations: () => readonly TrainSequence[];
  readonly advantages: AdvantageEstimator;
  /** Orders and names a batch by its content. */
  readonly createBatch: (step: number, items: readonly BatchItem[]) => Batch;
  readonly sandboxesCreated: () => number;
  /** Processor cores the run may use, for figures per core-hour. */
  readonly cores: number;
  readonly dataFolder: string;
  readonly onEvent: EventSink;
  readonly drain: AbortSignal;
  readonly abort: AbortSignal;
}

/** Where a checkpoint stands; stored with it. */
export interface CheckpointState {
  readonly phase: "sft" | "rl";
  /** Steps of that phase taken. */
  readonly step: number;
}

/** What the phases of one run share while it goes. */
export interface TrainContext extends TrainParts {
  readonly sections: readonly Section[];
  readonly board: ProgressBoard;
  /** The snapshot now sampled from. */
  current: PolicySnapshot | null;
  /** Seconds all episodes together spent in each phase of their record. */
  readonly episodeSeconds: Record<string, number>;
  /** What the run took so far, over all its sessions. */
  readonly totals: () => RunTotals;
  readonly save: (name: string, state: CheckpointState, version: number) => Promise<void>;
  /** Plans groups of a section and runs what is ready up to the last of them; false when stopped before all had ended. */
  readonly gather: (section: Section, from: number, to: number, step: number) => Promise<boolean>;
}

/** Thrown inside the run to leave it at a place it can go on from. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

/** Numbers the sections and ties planning, scheduling and settling together for the phases. */
export function trainContext(parts: TrainParts, board: ProgressBoard, before: RunTotals): TrainContext {
  const { runId, recipe, store, runtime, drain, abort } = parts;
  const sections = trainSections(recipe);
  const source = groupSource(recipe.seed, (section, index, cell) => parts.taskAt(section.split, index, cell));
  const chooser = parts.cells === null ? null : cellChooser({ ...parts, cells: parts.cells, sections });
  const budget = failureBudget(recipe.scheduler);
  const onFailed = failureWarnings(runtime, parts.onEvent);
  const context: TrainContext = {
    ...parts,
    sections,
    board,
    current: null,
    episodeSeconds: {},
    totals: () =>
      addTotals(before, {
        wallSeconds: board.elapsedSeconds(),
        sandboxesCreated: parts.sandboxesCreated(),
        secondsByPhase: board.seconds(),
        secondsByEpisodePhase: context.episodeSeconds,
      }),
    save: async (name, state, version) => {
      await parts.weights.save(name, version, state);
      await writeTotals(store, runId, context.totals());
      parts.onEvent({ kind: "checkpoint-saved", name, step: state.step });
    },
    gather: async (section, from, to, step) => {
      const cells = section.phase === "train" && chooser !== null ? await chooser.choose(step, to - from) : null;
      await store.plan(runId, source.plan(section, from, to, step, cells));
      const end: SchedulerEnd = await runReadyEpisodes({
        runId,
        store,
        runtime,
        runEpisode: parts.runEpisode,
        limits: recipe.scheduler,
        budget,
        groupTo: section.groupFirst + to - 1,
        resolve: (lease) => {
          const at = sectionOf(sections, lease.groupNo);
          if (context.current === null)
            throw new Failure("unexpected", "Episodes were asked for before any weights exist.");
          return {
            task: parts.taskAt(at.split, lease.groupNo - at.groupFirst, cellOfReference(lease.taskRef)),
            policy: parts.policyAt(context.current, at.mode),
            taskSet: parts.taskSet,
            recipeHash: parts.recipeHash,
          };
        },
        onFinished: (lease, record) => {
          board.episodeEnded(record.document);
          if (lease.phase === "eval") board.advance();
          for (const [phase, ms] of Object.entries(record.document.timing)) {
            context.episodeSeconds[phase] = (context.episodeSeconds[phase] ?? 0) + ms / 1_000;
          }
        },
        onFailed,
        drain,
        abort,
      });
      return end === "idle";
    },
  };
  return context;
}
