/** Detectors: pure functions from the stored record of an episode to findings, so that they can be run on old episodes. */
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
