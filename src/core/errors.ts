/**
 * Every failure has one code. The code decides who answers for it (its class), whether the same call may be tried
 * again, and which HTTP status and process exit code it becomes. There is one error class and one table, no class tree.
 */

/** Who answers for a failure; only the scheduler turns a class into a retry. */
export type FailureClass = "policy" | "infrastructure" | "endpoint" | "verifier" | "task" | "ours" | "moved" | "user";

interface FailureKind {
  readonly class: FailureClass;
  readonly retryable: boolean;
  readonly httpStatus: number;
}

function kind(failureClass: FailureClass, retryable: boolean, httpStatus: number): FailureKind {
  return { class: failureClass, retryable, httpStatus };
}

export const FAILURES = {
  sandbox_lost: kind("infrastructure", true, 503),
  sandbox_unavailable: kind("infrastructure", true, 503),
  sandbox_killed: kind("policy", false, 409),
  sandbox_destroyed: kind("ours", false, 409),
  sandbox_busy: kind("ours", false, 409),
  isolation_too_weak: kind("user", false, 422),
  image_unavailable: kind("task", true, 503),
  request_invalid: kind("user", false, 400),
  unsupported: kind("user", false, 501),

  endpoint_unavailable: kind("endpoint", true, 502),
  endpoint_overloaded: kind("endpoint", true, 503),
  endpoint_invalid: kind("endpoint", false, 502),
  policy_context_exceeded: kind("policy", false, 422),
  policy_text_only: kind("user", false, 422),
  policy_logprob_missing: kind("endpoint", false, 502),
  policy_sampling_truncated: kind("user", false, 422),
  policy_mismatch: kind("ours", false, 500),
  policy_out_of_order: kind("ours", false, 409),
  policy_not_finite: kind("ours", false, 500),
  policy_checkpoint_missing: kind("user", false, 404),
  policy_checkpoint_mismatch: kind("user", false, 409),

  verifier_crashed: kind("verifier", true, 500),
  verifier_timeout: kind("verifier", true, 504),
  verifier_report_invalid: kind("verifier", true, 500),
  reward_absent: kind("verifier", true, 500),
  reward_unreadable: kind("verifier", true, 500),
  reward_invalid: kind("verifier", true, 500),
  reward_ambiguous: kind("verifier", true, 500),
  reward_disagreement: kind("verifier", true, 500),
  artifact_lost: kind("verifier", true, 500),
  judge_unavailable: kind("verifier", true, 502),
  verdict_unstable: kind("verifier", false, 500),

  task_invalid: kind("task", false, 422),
  task_not_found: kind("user", false, 404),

  worker_lost: kind("infrastructure", true, 503),
  store_unavailable: kind("infrastructure", true, 503),
  store_locked: kind("user", false, 409),
  disk_full: kind("infrastructure", true, 507),
  record_invalid: kind("ours", false, 422),
  object_missing: kind("infrastructure", false, 404),
  superseded: kind("moved", false, 409),
  cancelled: kind("moved", false, 409),

  config_invalid: kind("user", false, 400),
  not_found: kind("user", false, 404),
  environment_missing: kind("user", false, 501),
  run_live: kind("user", false, 409),
  run_halted: kind("infrastructure", false, 503),
  unexpected: kind("ours", false, 500),
} as const satisfies Record<string, FailureKind>;

export type FailureCode = keyof typeof FAILURES;

/** The one error class. `message` is a sentence for a person; `cause` is always kept. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function failureClass(code: FailureCode): FailureClass {
  return FAILURES[code].class;
}

/** The failure an error is: itself, or `unexpected` with the error as cause. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Failure("unexpected", message, { cause: error });
}
