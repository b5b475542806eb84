import { expect, test } from "vitest";
import type { FindingRow } from "../core/finding.ts";
import { findingGroups } from "./finding-groups.ts";

function finding(episodeNo: number, change: Partial<FindingRow>): FindingRow {
  return {
    ...{ detector: "d", detectorVersion: 1, tier: "B", pattern: 1, effect: "attempted", isPunished: false },
    ...{ summary: "s", turn: null, file: null, line: null, evidence: [], findingId: `r-${episodeNo}-x`, runId: "r" },
    ...{ episodeNo, taskKey: "t/a", policyVersion: 4, foundAt: 1, review: "open" },
    ...{ reviewedBy: null, reviewedAt: null, reviewReason: null },
    ...change,
  } as FindingRow;
}

test("the strongest come first, each detector with how many and an effective example", () => {
  const groups = findingGroups([
    finding(1, {}),
    finding(2, { effect: "effective" }),
    finding(2, { review: "confirmed" }),
    finding(3, { detector: "e", tier: "A" }),
    finding(4, { detector: "f" }),
  ]);
  expect(groups).toMatchObject([
    { detector: "e", tier: "A", episodes: 1, findings: 1, effective: 0, open: 1 },
    { detector: "d", tier: "B", episodes: 2, findings: 3, effective: 1, open: 2, example: { episodeNo: 2 } },
    { detector: "f", tier: "B", episodes: 1 },
  ]);
  expect(findingGroups([])).toEqual([]);
});
