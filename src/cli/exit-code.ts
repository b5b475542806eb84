/** What the shell is told at the end of a command, and which failure becomes which number. The table is the contract. */
import { FAILURES, type FailureClass, type FailureCode } from "../core/errors.ts";

export const EXIT = {
  done: 0,
  /** Finished, but a gate failed: a score below its threshold, a task check that found a fault. */
  gateFailed: 1,
  /** Usage or configuration error; nothing was started. */
  usage: 2,
  /** The machine or the environment lacks something: capability, key, endpoint, disk. */
  environment: 3,
  /** Infrastructure failures above the budget, or results incomplete. */
  partial: 4,
  /** Our mistake. */
  unexpected: 70,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export const SIGNAL_EXIT = { SIGHUP: EXIT.hungUp, SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;

const BY_CLASS: Readonly<Record<FailureClass, number>> = {
  user: EXIT.usage,
  task: EXIT.usage,
  endpoint: EXIT.environment,
  infrastructure: EXIT.partial,
  verifier: EXIT.partial,
  policy: EXIT.partial,
  moved: EXIT.partial,
  ours: EXIT.unexpected,
};

const BY_CODE: Partial<Record<FailureCode, number>> = {
  environment_missing: EXIT.environment,
  isolation_too_weak: EXIT.environment,
  unsupported: EXIT.environment,
  sandbox_unavailable: EXIT.environment,
  image_unavailable: EXIT.environment,
  store_unavailable: EXIT.environment,
  disk_full: EXIT.environment,
  /* A record that cannot be read is most often a file that something cut short or changed. */
  record_invalid: EXIT.partial,
  cancelled: EXIT.interrupted,
};

/** Exit code of a command that ended with a failure of this code. */
export function exitCodeOf(code: FailureCode): number {
  return BY_CODE[code] ?? BY_CLASS[FAILURES[code].class];
}
