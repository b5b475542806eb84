/**
 * How an episode ends. The three kinds are apart in the type, so that a reward can exist only on a graded outcome and
 * an infrastructure failure cannot carry one: there is no field to put it in.
 */
import type { FailureClass, FailureCode } from "./errors.ts";
import { FAILURES } from "./errors.ts";

/** Why the agent stopped; an outcome is not a stop reason. */
export const STOP_REASONS = [
  "submitted",
  "turn_limit",
  "token_limit",
  "context_limit",
  "time_limit",
  "part_failed",
  "repetition_limit",
  "invalid_calls",
  "sandbox_killed",
  "memory_limit",
  "disk_limit",
] as const;

export type StopReason = (typeof STOP_REASONS)[number];

export type GradedCause = "completed" | "policy_limit" | "policy_fault" | "cheating";
export type FailedCause = "infra_before" | "infra_during" | "verifier_fault";
export type CancelledCause = "stale" | "user" | "run_ended";

/** One part of a verdict: what a tier (or a whole verifier) says, in [0, 1]. */
export interface Score {
  readonly verifier: string;
  readonly name: string;
  /** Null when the tier could not be scored; never 0 in its place. */
  readonly value: number | null;
  readonly weight: number;
  readonly tier: string;
  readonly visibility: "hidden" | "visible";
  readonly gate: boolean;
}

export type ScoreVector = readonly Score[];

export interface GradedOutcome {
  readonly kind: "graded";
  readonly cause: GradedCause;
  readonly stopReason: StopReason;
  /** Finite. In [0, 1] except for a cheating penalty in [-0.5, 0). */
  readonly reward: number;
  readonly scores: ScoreVector;
  readonly isTruncated: boolean;
}

export interface FailedOutcome {
  readonly kind: "failed";
  readonly cause: FailedCause;
  readonly failure: FailureCode;
  readonly message: string;
}

export interface CancelledOutcome {
  readonly kind: "cancelled";
  readonly cause: CancelledCause;
}

export type Outcome = GradedOutcome | FailedOutcome | CancelledOutcome;

/** One of the outcome classes of the books, as shown in reports: `graded/completed`, `failed/infra_during`, … */
export type OutcomeClass = `${Outcome["kind"]}/${GradedCause | FailedCause | CancelledCause}`;

export function outcomeClass(outcome: Outcome): OutcomeClass {
  return `${outcome.kind}/${outcome.cause}`;
}

const STOP_CAUSES: Readonly<Record<StopReason, GradedCause>> = {
  submitted: "completed",
  turn_limit: "policy_limit",
  token_limit: "policy_limit",
  context_limit: "policy_limit",
  time_limit: "policy_limit",
  part_failed: "policy_limit",
  repetition_limit: "policy_fault",
  invalid_calls: "policy_fault",
  sandbox_killed: "policy_fault",
  memory_limit: "policy_fault",
  disk_limit: "policy_fault",
};

export function stopCause(stopReason: StopReason): GradedCause {
  return STOP_CAUSES[stopReason];
}

/** The cause of a failed episode, from the failure class of its code and whether the policy had begun to act. */
export function failedCause(code: FailureCode, turnsTaken: number): FailedCause {
  const failureClass: FailureClass = FAILURES[code].class;
  if (failureClass === "verifier") return "verifier_fault";
  return turnsTaken === 0 ? "infra_before" : "infra_during";
}
