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

interface Graded<Cause extends GradedCause, Stop extends StopReason> {
  readonly kind: "graded";
  readonly cause: Cause;
  readonly stopReason: Stop;
  readonly scores: ScoreVector;
}

/** Each cause with what goes with it alone: only a limit truncates, a fault earns nothing, only cheating can cost. */
export type GradedOutcome =
  /** `reward` is in [0, 1]. */
  | (Graded<"completed", StopOf<"completed">> & { readonly reward: number; readonly isTruncated: false })
  | (Graded<"policy_limit", StopOf<"policy_limit">> & { readonly reward: number; readonly isTruncated: true })
  | (Graded<"policy_fault", StopOf<"policy_fault">> & { readonly reward: 0; readonly isTruncated: false })
  | (Graded<"cheating", StopReason> & {
      /** In [-0.5, 0]. */
      readonly reward: number;
      readonly isTruncated: boolean;
      /** True when it stands in its group's baseline and none of its own tokens train. */
      readonly isExcluded: boolean;
    });

/** What an episode earns whose findings are punished. `penalty` is in [-0.5, 0). */
export type CheatingRule =
  | { readonly kind: "zero" }
  | { readonly kind: "penalty"; readonly penalty: number }
  | { readonly kind: "exclude" };

/** The worst a penalty may be. */
export const CHEATING_PENALTY_MIN = -0.5;

/** Not graded, for a reason that is not the policy's. There is no reward to misread. */
export interface FailedOutcome {
  readonly kind: "failed";
  readonly cause: FailedCause;
  readonly failure: FailureCode;
  readonly message: string;
}

/** Not graded, because nobody wants it any more. */
export interface CancelledOutcome {
  readonly kind: "cancelled";
  readonly cause: CancelledCause;
}

/** How an episode ended. */
export type Outcome = GradedOutcome | FailedOutcome | CancelledOutcome;

/** One of the outcome classes of the books, as shown in reports: `graded/completed`, `failed/infra_during`, … */
export type OutcomeClass = `${Outcome["kind"]}/${GradedCause | FailedCause | CancelledCause}`;

export function outcomeClass(outcome: Outcome): OutcomeClass {
  return `${outcome.kind}/${outcome.cause}`;
}

const STOP_CAUSES = {
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
} as const satisfies Record<StopReason, GradedCause>;

export type StopCause = (typeof STOP_CAUSES)[StopReason];

/** The stop reasons of one cause. */
type StopOf<Cause extends StopCause> = {
  [Reason in StopReason]: (typeof STOP_CAUSES)[Reason] extends Cause ? Reason : never;
}[StopReason];

/** The cause that a stop reason alone gives a graded episode. */
export function stopCause(stopReason: StopReason): StopCause {
  return STOP_CAUSES[stopReason];
}

function isStopOf<Cause extends StopCause>(stopReason: StopReason, cause: Cause): stopReason is StopOf<Cause> {
  return STOP_CAUSES[stopReason] === cause;
}

/** The outcome of an episode that stopped so and earned `reward`, in [0, 1]; a policy fault earns 0 whatever it is. */
export function gradedBy(stopReason: StopReason, reward: number, scores: ScoreVector): GradedOutcome {
  const kind = "graded";
  if (isStopOf(stopReason, "completed"))
    return { kind, cause: "completed", stopReason, reward, scores, isTruncated: false };
  if (isStopOf(stopReason, "policy_limit"))
    return { kind, cause: "policy_limit", stopReason, reward, scores, isTruncated: true };
  if (isStopOf(stopReason, "policy_fault"))
    return { kind, cause: "policy_fault", stopReason, reward: 0, scores, isTruncated: false };
  throw new RangeError(`there is no stop reason ${stopReason}`);
}

/** The same episode once deterministic evidence says that it cheated. Its scores stay as the verifier gave them. */
export function punished(outcome: GradedOutcome, rule: CheatingRule): GradedOutcome {
  const { stopReason, scores, isTruncated } = outcome;
  const reward = rule.kind === "penalty" ? Math.max(CHEATING_PENALTY_MIN, Math.min(0, rule.penalty)) : 0;
  return {
    kind: "graded",
    cause: "cheating",
    stopReason,
    reward,
    scores,
    isTruncated,
    isExcluded: rule.kind === "exclude",
  };
}

/** The cause of a failed episode, from the failure class of its code and whether the policy had begun to act. */
export function failedCause(code: FailureCode, turnsTaken: number): FailedCause {
  const failureClass: FailureClass = FAILURES[code].class;
  if (failureClass === "verifier") return "verifier_fault";
  return turnsTaken === 0 ? "infra_before" : "infra_during";
}
