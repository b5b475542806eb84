import { expect, test } from "vitest";
import type { RunEvent } from "../core/events.ts";
import type { FailedOutcome } from "../core/outcome.ts";
import type { Lease } from "../core/store.ts";
import { failureWarnings } from "./failure-warnings.ts";

const lease = { episodeNo: 7, attempt: 2 } as Lease;
const failed = (failure: FailedOutcome["failure"]): FailedOutcome => ({
  kind: "failed",
  cause: "infra_during",
  failure,
  message: "nobody answers",
});

test("each kind of failure is told at once, and a flood of one kind as a count", () => {
  let now = 0;
  const events: RunEvent[] = [];
  const warn = failureWarnings({ monotonic: () => now }, (event) => events.push(event));
  for (let count = 0; count < 40; count += 1) warn(lease, failed("endpoint_unavailable"), 1_500);
  warn(lease, failed("sandbox_lost"), null);
  now = 60_000;
  warn(lease, failed("endpoint_unavailable"), 1_500);
  expect(events.map((event) => event.kind === "warning-raised" && event.message)).toEqual([
    "Attempt 2 of episode 7 failed (endpoint_unavailable: nobody answers); the next follows in 1.5 s.",
    "Attempt 2 of episode 7 failed (sandbox_lost: nobody answers); no attempt follows.",
    "Attempt 2 of episode 7 failed (endpoint_unavailable: nobody answers); the next follows in 1.5 s. So did 39 more since the last warning.",
  ]);
});
