import { expect, test } from "vitest";
import { FAILURES, type FailureCode } from "./errors.ts";
import { failedCause, type Outcome, STOP_REASONS, stopCause } from "./outcome.ts";

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
