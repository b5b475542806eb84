/** What a run prints at its end. `train --json` puts a TrainSummary on its last line; names are equal on the wire. */
import type { PassRate } from "../core/events.ts";
import type { OutcomeClass } from "../core/outcome.ts";
import type { FindingGroup } from "./finding-groups.ts";

export interface HeldOut {
  readonly before: PassRate;
  readonly after: PassRate;
  readonly greedyBefore: PassRate | null;
  readonly greedyAfter: PassRate | null;
  readonly hardBefore: PassRate | null;
  readonly hardAfter: PassRate | null;
}

export interface TrainSummary {
  readonly runId: string;
  readonly name: string;
  readonly state: "done" | "stopped" | "halted";
  /** Why it stopped or halted; null when done. */
  readonly reason: string | null;
  /** Null when the run ended before both evaluations. */
  readonly heldOut: HeldOut | null;
  /** Episodes that ended, verdicts reused included. */
  readonly episodes: number;
  /** Episodes by outcome class; classes that did not occur are absent. */
  readonly outcomes: Readonly<Partial<Record<OutcomeClass, number>>>;
  readonly verdictsReused: number;
  readonly sandboxesCreated: number;
  readonly wallSeconds: number;
  /** Optimizer steps of the RL phase. */
  readonly stepCount: number;
  readonly secondsByPhase: Readonly<Record<string, number>>;
  /** Seconds that all episodes together spent in each phase of their record: queue, model, verify, … */
  readonly secondsByEpisodePhase: Readonly<Record<string, number>>;
  /** Graded training episodes with non-zero advantage per core-hour of the RL phase; null when it did not run. */
  readonly effectiveEpisodesPerCoreHour: number | null;
  readonly dataFolder: string;
  readonly diskBytes: number;
  /** Mean reward of each RL step, in order. */
  readonly rewardByStep: readonly number[];
}

export interface EvaluateSummary {
  readonly runId: string;
  readonly tasks: number;
  readonly episodes: number;
  readonly outcomes: Readonly<Partial<Record<OutcomeClass, number>>>;
  readonly passAt1: PassRate;
  /** By k; interval by bootstrap over tasks. */
  readonly passAtK: readonly {
    readonly k: number;
    readonly value: number;
    readonly low: number;
    readonly high: number;
  }[];
  readonly byTask: readonly {
    readonly key: string;
    readonly solved: number;
    readonly graded: number;
    readonly meanReward: number | null;
  }[];
  /** What detectors said, by detector; absent in summaries of older versions. */
  readonly findings?: readonly FindingGroup[];
  readonly wallSeconds: number;
  readonly dataFolder: string;
}
