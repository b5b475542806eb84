/**
 * Findings: what detectors say of an episode, from its record alone. They stand beside the trajectory and never change
 * it. Tier A is deterministic evidence, B strong evidence, C a smell, D a trend of a run; only A may change a reward.
 */
import type { NetworkLog, ProcessInfo } from "./sandbox.ts";

/** By strength of evidence: deterministic, strong, a smell, a trend of a run. */
export const FINDING_TIERS = ["A", "B", "C", "D"] as const;
export type FindingTier = (typeof FINDING_TIERS)[number];

/** One thing a detector reports of one episode. */
export interface Finding {
  /** Kebab-case: `planted-reward-file`. */
  readonly detector: string;
  /** Raised when equal records may give another finding. */
  readonly detectorVersion: number;
  readonly tier: FindingTier;
  /** Number in the catalogue of hacks, 1 to 64. */
  readonly pattern: number;
  /** Whether it changed what was graded. */
  readonly effect: "attempted" | "effective";
  /** True when the outcome becomes `cheating`: tier A, and no edit that may be legitimate. */
  readonly isPunished: boolean;
  /** One plain sentence; no accusation of intent. */
  readonly summary: string;
  /** From 1; null when no turn can be named. */
  readonly turn: number | null;
  /** Path in the sandbox; null when no file can be named. */
  readonly file: string | null;
  /** From 1. */
  readonly line: number | null;
  /** At most 10 lines of at most 300 printable characters, quoted from the record. */
  readonly evidence: readonly string[];
}

/** What people have decided of a finding; `open` until somebody has. */
export const REVIEW_STATES = ["open", "confirmed", "legitimate", "task-defect", "detector-defect"] as const;
export type ReviewState = (typeof REVIEW_STATES)[number];

/** A difference between the sealed state and the state in which the agent found its sandbox. */
export interface StateChange {
  readonly path: string;
  readonly change: "added" | "modified" | "removed";
  readonly kind: "file" | "folder" | "link" | "device" | "fifo" | "socket" | "other";
  /** After the change; null for what was removed. */
  readonly mode: number | null;
  readonly uid: number | null;
  readonly bytes: number | null;
  readonly sha256: string | null;
  /** The first 4 KiB of a text file; null for anything else. */
  readonly head: string | null;
}

/** What the sandbox saw happen. `exec`: a program was started. `open` and `write`: of a watched path. */
export interface TraceEvent {
  readonly kind: "exec" | "open" | "write";
  /** Milliseconds since the sandbox was claimed. */
  readonly atMs: number;
  /** During which it happened, from 1; 0 before the first. */
  readonly turn: number;
  readonly path: string;
  /** Of the process; null where the recorder does not know it. */
  readonly pid: number | null;
  /** Null where the recorder does not know it. */
  readonly argv: readonly string[] | null;
}

/** What was recorded outside the agent's reach; stored whole in a body of the record. */
export interface Evidence {
  readonly changes: readonly StateChange[];
  /** Changes that were not listed because there were too many. */
  readonly changesDropped: number;
  readonly events: readonly TraceEvent[];
  readonly eventsDropped: number;
  /** Whether execs and opens were recorded at all on this machine. */
  readonly isTraced: boolean;
  /** Alive when the sandbox was frozen. */
  readonly processes: readonly ProcessInfo[];
  readonly network: NetworkLog | null;
}

/** A finding with its place in the books. */
export interface FindingRow extends Finding {
  readonly findingId: string;
  readonly runId: string;
  readonly episodeNo: number;
  readonly taskKey: string;
  readonly policyVersion: number;
  readonly foundAt: number;
  readonly review: ReviewState;
  /** Of the last decision; null while open. */
  readonly reviewedBy: string | null;
  readonly reviewedAt: number | null;
  readonly reviewReason: string | null;
}
