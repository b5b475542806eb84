/** The list of runs, which must be read at a glance in a narrow terminal as in a wide one. */
import { expect, test } from "vitest";
import type { RunRow } from "../core/store.ts";
import { runsTable } from "./run.ts";

const run: RunRow = {
  runId: "01M8QV3KYWPQEJXXEZ329W9DM4",
  kind: "train",
  state: "halted",
  reason: null,
  name: "a-name-that-is-longer-than-most-are",
  createdAt: Date.UTC(2026, 11, 1, 3, 41, 51),
  updatedAt: 0,
  recipeHash: "",
  config: "{}",
  step: 60,
  policyVersion: 60,
  summary: JSON.stringify({ heldOut: { before: { passRate: 0.333 }, after: { passRate: 0.417 } } }),
  owner: null,
};
const live: RunRow = { ...run, name: "short", summary: null, owner: { pid: 1, since: 0 } };

test.each([80, 90, 120])("in %i columns each run stands on one line", (width) => {
  const lines = runsTable(
    [
      { ...run, name: "first-light" },
      { ...run, state: "done" },
    ],
    width,
  ).split("\n");
  expect(lines).toHaveLength(3);
  if (width < 100) for (const line of lines) expect([...line].length).toBeLessThanOrEqual(width);
  expect(lines[1]).toContain("0.333 → 0.417");
  expect(lines[1]).toContain(width < 100 ? "12-01 03:41" : "2026-12-01 03:41:51");
});

test("a live run is told from one that was left", () => {
  expect(runsTable([live], 80)).toMatch(/short .*halted, live/);
});
