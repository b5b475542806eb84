/**
 * Classifies how an episode ended. This is the one place where an error becomes an outcome: the cause follows from the
 * code's failure class and from whether the policy had begun to act, never from what the policy said.
 */
import type { Failure } from "../core/errors.ts";
import { Failure as FailureError, failureClass, toFailure } from "../core/errors.ts";
import type { MilestoneReading } from "../core/milestone.ts";
import type { CancelledCause, GradedOutcome, Outcome, StopReason } from "../core/outcome.ts";
import { failedCause, gradedBy } from "../core/outcome.ts";
import { rewardOf } from "../core/reward.ts";
import type { Task } from "../core/task.ts";
import type { Verdict } from "../core/verifier.ts";

const CANCELLED_CAUSES: readonly CancelledCause[] = ["stale", "user", "run_ended"];

/**
 * What a graded state earns: the reward of its verdict and of the milestones it last stood at (null: none), or 0 where
 * the policy is at fault for how the episode ended.
 */
export function gradedOutcome(
  stopReason: StopReason,
  verdict: Verdict,
  { milestones }: Pick<Task, "milestones">,
  last: MilestoneReading | null,
): GradedOutcome {
  return gradedBy(stopReason, rewardOf(verdict, milestones ?? null, last), verdict.scores);
}

/** `cancel` is the caller's signal: once aborted, the episode was cancelled, whatever else broke because of it. */
export function endedOutcome(error: unknown, turnsTaken: number, cancel: AbortSignal): Outcome {
  const failure: Failure = toFailure(error);
  if (cancel.aborted) return { kind: "cancelled", cause: cancelledCause(cancel.reason) };
  if (failureClass(failure.code) === "moved") return { kind: "cancelled", cause: cancelledCause(failure) };
  return {
    kind: "failed",
    cause: failedCause(failure.code, turnsTaken),
    failure: failure.code,
    message: failure.message,
  };
}

function cancelledCause(reason: unknown): CancelledCause {
  if (reason instanceof FailureError) return reason.code === "superseded" ? "stale" : "run_ended";
  return CANCELLED_CAUSES.find((cause) => cause === reason) ?? "run_ended";
}
