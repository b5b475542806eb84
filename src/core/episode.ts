/** What it takes to run one episode, and what running one promises. The loop itself lives in `episode/`. */
import type { Policy } from "./policy.ts";
import type { FileContent } from "./sandbox-files.ts";
import type { Task } from "./task.ts";
import type { TrajectoryRecord } from "./trajectory.ts";

export interface EpisodePlan {
  readonly runId: string;
  readonly groupId: string;
  /** `<runId>-<episode_no>`. */
  readonly episodeId: string;
  readonly member: number;
  readonly attempt: number;
  readonly fence: number;
  readonly taskSet: string;
  readonly split: string;
  readonly task: Task;
  readonly policy: Policy;
  readonly samplingSeed: bigint;
  /** Siblings of a group share it, so equal answers earn equal rewards. */
  readonly gradingSeed: bigint;
  readonly recipeHash: string;
  /** Milliseconds this attempt waited before it started. */
  readonly queuedMs: number;
  /** False for a forced re-verification: the verdict is then never taken from memory. */
  readonly mayReuseVerdict: boolean;
  /** Grades the frozen state a second time whatever the run's share says, to see that verdicts repeat. Default false. */
  readonly isGradedTwice?: boolean;
  /** Placed in the agent's sandbox after the task's own files: a script's `/solution`. Never given to a policy under training. */
  readonly extraFiles?: readonly FileContent[];
}

/**
 * Returns exactly one record for whatever happens; an error becomes an outcome here and nowhere else.
 * An aborted signal gives a cancelled outcome, with the turns so far; its cause is the signal's reason when that is one
 * of the `CancelledCause` words or a Failure `superseded` (`stale`), else `run_ended`.
 */
export type EpisodeRunner = (plan: EpisodePlan, signal: AbortSignal) => Promise<TrajectoryRecord>;
