import { expect, test } from "vitest";
import type { FindingRow, ReviewState } from "../core/finding.ts";
import type { TrajectoryRow } from "../core/store.ts";
import { quarantine } from "./quarantine.ts";

function row(episodeNo: number, change: Partial<TrajectoryRow> = {}): TrajectoryRow {
  return {
    ...{
      runId: "r",
      episodeNo,
      groupNo: 1,
      member: episodeNo,
      phase: "train",
      step: 1,
      split: "train",
      taskKey: "t/a",
      taskRef: "{}",
    },
    ...{
      outcome: "graded",
      cause: "completed",
      stopReason: "submitted",
      failure: null,
      reward: 1,
      rewardAdopted: null,
    },
    ...{ isVerdictReused: false, policyVersionFirst: 4, policyVersionLast: 4, attempts: 1, turns: 1 },
    ...{ sampledTokens: 1, durationMs: 1, finishedAt: 1 },
    ...change,
  };
}

function finding(episodeNo: number, tier: "A" | "B" | "C", review: ReviewState = "open"): FindingRow {
  return {
    ...{ detector: "d", detectorVersion: 1, tier, pattern: 1, effect: "attempted", isPunished: tier === "A" },
    ...{ summary: "s", turn: null, file: null, line: null, evidence: [], findingId: `r-${episodeNo}-x`, runId: "r" },
    ...{ episodeNo, taskKey: "t/a", policyVersion: 4, foundAt: 1, review },
    ...{ reviewedBy: null, reviewedAt: null, reviewReason: null },
  };
}

const rows = Array.from({ length: 20 }, (_, index) => row(index));
const trains = (findings: FindingRow[], of = row(0)) => quarantine("r", rows, findings, []).trainsOf(of);

test("an open or confirmed tier B finding holds back what is rewarded, and a smell holds back nothing", () => {
  expect(trains([])).toBe("always");
  expect(trains([finding(0, "B")])).toBe("unless-rewarded");
  expect(trains([finding(0, "B", "confirmed")])).toBe("unless-rewarded");
  expect(trains([finding(0, "C")])).toBe("always");
  expect(trains([finding(1, "B")])).toBe("always");
});

test("a finding judged legitimate, or the detector's own fault, gives the episode back", () => {
  expect(trains([finding(0, "B", "legitimate")])).toBe("always");
  expect(trains([finding(0, "B", "detector-defect")])).toBe("always");
});

test("tier A holds back an episode that was not punished for it, and not one that was", () => {
  expect(trains([finding(0, "A")])).toBe("unless-rewarded");
  expect(trains([finding(0, "A")], row(0, { cause: "cheating", reward: 0 }))).toBe("always");
});

test("an excluded episode never trains, unless a person cleared all that it was punished for", () => {
  const cheating = row(0, { cause: "cheating", reward: 0 });
  const trainsExcluded = (findings: FindingRow[]) => quarantine("r", rows, findings, []).trainsOf(cheating, true);
  expect(trainsExcluded([finding(0, "A")])).toBe("never");
  expect(trainsExcluded([finding(0, "A", "legitimate"), finding(0, "A")])).toBe("never");
  expect(trainsExcluded([finding(0, "A", "legitimate"), finding(0, "A", "detector-defect")])).toBe("always");
});

test("no episode of a task that was set aside trains", () => {
  const aside = [{ taskKey: "t/a", reason: "task-defect", runId: "other", episodeNo: 3 }] as const;
  expect(quarantine("r", rows, [], aside)).toMatchObject({ quarantined: 20 });
  expect(quarantine("r", rows, [], aside).trainsOf(row(0))).toBe("never");
});

test("more than a tenth of a policy version without a review pauses the run, and says how to go on", () => {
  const two = [finding(0, "B"), finding(1, "B"), finding(1, "C")];
  quarantine("r", rows, two, []).refuseUnseen(7);
  const three = [...two, finding(2, "B")];
  expect(() => quarantine("r", rows, three, []).refuseUnseen(7)).toThrow(
    /3 of 20 graded episodes of policy version 4.*sandlot finding list r.*sandlot run resume r/,
  );
  quarantine("r", rows, [...two, finding(2, "B", "confirmed")], []).refuseUnseen(7);
  expect(quarantine("r", rows, three, [])).toMatchObject({ quarantined: 3, findingsA: 0, findingsB: 3 });
});

test("one version's findings are held against that version's episodes alone", () => {
  const older = rows.map((each, index) => (index < 10 ? row(index, { policyVersionFirst: 3 }) : each));
  expect(() => quarantine("r", older, [finding(0, "B"), finding(1, "B")], []).refuseUnseen(7)).toThrow(/version 3/);
});
