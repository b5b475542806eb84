/** Detectors: pure functions from stored records to findings, so that they can be run on old episodes and old runs. */
import type { Evidence, Finding, FindingTier } from "./finding.ts";
import type { Task } from "./task.ts";
import type { Trajectory } from "./trajectory.ts";

/** What a detector reads. Pure: equal inputs, equal findings. */
export interface DetectorInput {
  readonly document: Trajectory;
  /** A body of the record; null when it is not stored. */
  body(hash: string): Uint8Array | null;
  readonly evidence: Evidence | null;
  /** Null when the task can no longer be resolved. */
  readonly task: Task | null;
}

/** One detector over one episode. Pure, and versioned: equal inputs and version give equal findings. */
export interface Detector {
  readonly name: string;
  readonly version: number;
  readonly tier: FindingTier;
  /** Patterns of the catalogue that it speaks of. */
  readonly patterns: readonly number[];
  detect(input: DetectorInput): readonly Finding[];
}

/** All detectors over one episode; a detector that throws is left out and named. */
export type DetectEpisode = (input: DetectorInput) => {
  readonly findings: readonly Finding[];
  readonly failed: readonly string[];
};

/** What one episode of a run tells; null where it has no such thing. */
export interface RunLevelRow {
  readonly taskKey: string;
  readonly policyVersion: number;
  /** `held-out` rows never train. */
  readonly split: "train" | "held-out";
  /** Null when it was not graded. */
  readonly reward: number | null;
  /** Share of the visible tests that passed, as they were given. */
  readonly visibleShare: number | null;
  readonly hiddenShare: number | null;
  /** Part of the reward that form alone earned, in [0, 1]. */
  readonly formatShare: number | null;
  /** Ended for a reason the policy can have caused, and was not graded. */
  readonly isDiscarded: boolean;
  readonly findings: readonly Pick<Finding, "tier">[];
}

/** Alerts on a run from all its episodes; `entropies` by policy version, in order, where the trainer measured them. Pure. */
export type DetectRun = (rows: readonly RunLevelRow[], entropies: readonly number[]) => readonly Finding[];
