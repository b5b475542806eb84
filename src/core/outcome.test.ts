import { expect, test } from "vitest";
import { FAILURES, type FailureCode } from "./errors.ts";
import { failedCause, gradedBy, type Outcome, punished, STOP_REASONS, stopCause } from "./outcome.ts";

test("no failed or cancelled outcome has a place for a reward", () => {
  const failed: Outcome = { kind: "failed", cause: "infra_during", failure: "sandbox_lost", message: "gone" };
  // Reading it does not type-check: `failed.reward` is a compile error, so the trainer cannot see one that is not there.
  type RewardOf<T> = T extends { reward: infer Reward } ? Reward : "none";
  const absent: RewardOf<Extract<Outcome, { kind: "failed" | "cancelled" }>> = "none";
  expect(absent).toBe("none");
  expect(Object.keys(failed)).not.toContain("reward");
});

test("every stop reason has one graded cause, and a limit is never a failure", () => {
  for (const reason of STOP_REASONS) expect(["completed", "policy_limit", "policy_fault"]).toContain(stopCause(reason));
  expect(stopCause("time_limit")).toBe("policy_limit");
  expect(stopCause("sandbox_killed")).toBe("policy_fault");
});

test("a failure is before the policy acted, during, or the verifier's; its code decides with the turns taken", () => {
  for (const code of Object.keys(FAILURES) as FailureCode[]) {
    const isVerifier = FAILURES[code].class === "verifier";
    expect(failedCause(code, 0)).toBe(isVerifier ? "verifier_fault" : "infra_before");
    expect(failedCause(code, 3)).toBe(isVerifier ? "verifier_fault" : "infra_during");
  }
});

test("each cause earns only what it may: limits truncate, faults earn 0, cheating costs at most 0.5", () => {
  for (const reason of STOP_REASONS) {
    const outcome = gradedBy(reason, 0.75, []);
    expect(outcome).toMatchObject({ kind: "graded", cause: stopCause(reason), stopReason: reason });
    expect(outcome.reward).toBe(stopCause(reason) === "policy_fault" ? 0 : 0.75);
    expect(outcome.isTruncated).toBe(stopCause(reason) === "policy_limit");
    const cheating = punished(outcome, { kind: "penalty", penalty: -2 });
    expect(cheating).toMatchObject({
      cause: "cheating",
      stopReason: reason,
      reward: -0.5,
      isTruncated: outcome.isTruncated,
    });
    expect(punished(outcome, { kind: "penalty", penalty: 1 }).reward).toBe(0);
  }
});

test("what does not belong together does not type-check", () => {
  // Each is a compile error once the type lets it in.
  type Fits<T> = T extends Outcome ? "fits" : "does not";
  type Graded = { kind: "graded"; scores: []; isTruncated: false };
  const paidFault: Fits<Graded & { cause: "policy_fault"; stopReason: "invalid_calls"; reward: 1 }> = "does not";
  const fault: Fits<Graded & { cause: "policy_fault"; stopReason: "invalid_calls"; reward: 0 }> = "fits";
  const wholeLimit: Fits<Graded & { cause: "completed"; stopReason: "turn_limit"; reward: 1 }> = "does not";
  const uncutLimit: Fits<Graded & { cause: "policy_limit"; stopReason: "turn_limit"; reward: 1 }> = "does not";
  expect([paidFault, fault, wholeLimit, uncutLimit]).toEqual(["does not", "fits", "does not", "does not"]);
});
