/**
 * A verifier grades the frozen state of an episode. It gets artifacts as data and clean sandboxes the policy never
 * touched; the platform, not the graded side, computes the score.
 */
import type { JudgeResult } from "./judge.ts";
import type { ScoreVector } from "./outcome.ts";
import type { FileContent } from "./sandbox-files.ts";
import type { SandboxPool } from "./sandbox-pool.ts";
import type { Task } from "./task.ts";

export type TestStatus = "passed" | "failed" | "skipped" | "error" | "timeout" | "missing";

/** How one test of the manifest ended. */
export interface TestResult {
  readonly id: string;
  readonly tier: string;
  readonly visibility: "hidden" | "visible";
  readonly status: TestStatus;
  readonly durationMs: number;
  /** At most 2 KiB, for people; never parsed. */
  readonly detail: string;
}

/** Something at or below a declared path that did not cross, for people. */
export interface RefusedArtifact {
  /** Hostile text, at most 300 characters. */
  readonly path: string;
  readonly reason: string;
}

/** What crossed from the agent's sandbox, as data. */
export interface Artifacts {
  /** Text given to `submit`; null when there was none. */
  readonly answer: string | null;
  readonly files: readonly FileContent[];
  /** Declared and required paths the agent did not make. */
  readonly missing: readonly string[];
  /** What was there and not taken, such as links, or a file that is not of its kind. Absent when there was none. */
  readonly refused?: readonly RefusedArtifact[];
  /**
   * What the agent left under `/visible`, of a task that has visible tests; absent when it left nothing there. Only the
   * signal of the visible suite reads it; nothing of it is placed where hidden tests run.
   */
  readonly visible?: readonly FileContent[];
  /** SHA-256 over answer, files, what is missing and, where there are any, the visible files. */
  readonly hash: string;
}

/** One frozen state to grade. Equal task, artifacts and seed ask the same. */
export interface GradeRequest {
  readonly task: Task;
  readonly artifacts: Artifacts;
  readonly gradingSeed: bigint;
  readonly attemptId: string;
  readonly fence: number;
  readonly signal: AbortSignal;
}

/** Medians of a performance tier, in milliseconds of the larger of processor and wall time. */
export interface Measure {
  readonly tier: string;
  readonly test: string;
  readonly baselineMs: number;
  readonly referenceMs: number;
  readonly subjectMs: number;
  /** clamp(log(b/x) / log(b/o), 0, 1); 0 inside the noise band. */
  readonly score: number;
  /** b/x above 3 * b/o: faster than the work allows. */
  readonly isUnphysical: boolean;
}

/** All that grading says of one state: the total, and what it was computed from. */
export interface Verdict {
  /** T of the tier formula, in [0, 1]. */
  readonly total: number;
  /** True when a veto tier failed: the final reward is then 0. */
  readonly isVetoed: boolean;
  readonly scores: ScoreVector;
  readonly tests: readonly TestResult[];
  /** Ids that were reported and are not in the manifest. */
  readonly extraTests: readonly string[];
  readonly measures: readonly Measure[];
  readonly judge: JudgeResult | null;
  /** The visible suite run again on the graded state: the task's own bytes, and what the agent made of them. Null without one. */
  readonly visible: { readonly original: readonly TestResult[]; readonly asLeft: readonly TestResult[] } | null;
  /** SHA-256 of everything the verdict depends on; equal identity, equal verdict. */
  readonly identity: string;
  readonly gradingSeed: string;
  readonly imageHash: string;
  readonly sandboxIds: readonly string[];
  readonly durationMs: number;
  /** True when the verdict of an equal identity was returned instead of grading again. */
  readonly isReused: boolean;
}

/** Grades a frozen state in clean sandboxes; keeps nothing between gradings. */
export interface Verifier {
  /** Raised when equal inputs may give another verdict; part of the identity. */
  readonly version: number;
  /**
   * Grades once. A failing, hanging or hostile subject is a verdict.
   * Throws `verifier_crashed`, `verifier_timeout`, `verifier_report_invalid` or a sandbox failure: never a reward of 0.
   */
  grade(request: GradeRequest, sandboxes: SandboxPool): Promise<Omit<Verdict, "identity" | "isReused">>;
}

/** Remembers verdicts by identity. */
export interface VerdictMemory {
  find(identity: string): Verdict | null;
  remember(verdict: Verdict): void;
  /** Of a verdict that a second grading did not confirm. */
  forget(identity: string): void;
}
