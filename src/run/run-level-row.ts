/** What the detectors of a run read of one stored episode. Pure. */
import type { RunLevelRow } from "../core/detector.ts";
import type { FindingRow } from "../core/finding.ts";
import type { TrajectoryRow } from "../core/store.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { TestResult } from "../core/verifier.ts";

/** `findings` are those of this episode; one that a person has cleared says nothing of the run. */
export function runLevelRow(
  row: Pick<TrajectoryRow, "taskKey" | "policyVersionFirst" | "phase" | "reward" | "outcome" | "cause">,
  { verification, tests }: Pick<Trajectory, "verification" | "tests">,
  findings: readonly Pick<FindingRow, "tier" | "review">[],
): RunLevelRow {
  return {
    taskKey: row.taskKey,
    policyVersion: row.policyVersionFirst,
    split: row.phase === "train" ? "train" : "held-out",
    reward: row.reward,
    visibleShare: passedShare(verification?.visible?.original ?? []),
    hiddenShare: passedShare(tests.filter(({ visibility }) => visibility === "hidden")),
    formatShare: null,
    isDiscarded: row.outcome === "failed" && row.cause !== "infra_before",
    findings: findings.filter(({ review }) => review !== "legitimate" && review !== "detector-defect"),
  };
}

function passedShare(tests: readonly TestResult[]): number | null {
  return tests.length === 0 ? null : tests.filter(({ status }) => status === "passed").length / tests.length;
}
