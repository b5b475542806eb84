import { expect, test } from "vitest";
import { FAILURES, type FailureCode } from "../core/errors.ts";
import { exitCodeOf } from "./exit-code.ts";

test("each kind of trouble has the exit code the documents promise", () => {
  const expected: Partial<Record<FailureCode, number>> = {
    config_invalid: 2,
    not_found: 2,
    run_live: 2,
    task_invalid: 2,
    environment_missing: 3,
    sandbox_unavailable: 3,
    endpoint_unavailable: 3,
    disk_full: 3,
    run_halted: 4,
    record_invalid: 4,
    cancelled: 130,
    unexpected: 70,
  };
  for (const [code, exitCode] of Object.entries(expected)) {
    expect([code, exitCodeOf(code as FailureCode)]).toEqual([code, exitCode]);
  }
});

test("no failure at all ends as success", () => {
  for (const code of Object.keys(FAILURES)) expect(exitCodeOf(code as FailureCode)).toBeGreaterThan(1);
});
