/** What an evaluation leaves on the screen, where the next step is the point. */
import { expect, test } from "vitest";
import type { EvaluateSummary } from "../run/report.ts";
import { evaluateTable } from "./evaluate-table.ts";

const plain = { paint: (_style: string, text: string) => text };

function summary(outcomes: Readonly<Record<string, number>>): EvaluateSummary {
  return {
    runId: "01ABC",
    outcomes,
    passAt1: { passRate: 0, low: 0, high: 1, episodes: 0 },
    passAtK: [],
    tasks: 1,
    episodes: 2,
    wallSeconds: 1,
    dataFolder: "data",
    byTask: [],
  } as unknown as EvaluateSummary;
}

test("an evaluation whose verifier failed tells how its episodes are graded after all", () => {
  const text = evaluateTable(summary({ "failed/verifier_fault": 2 }), plain);
  expect(text).toContain("2 episodes were not graded: their hidden tests or judge failed.");
  expect(text).toMatch(/regrade 01ABC --verifier current$/);
});

test("an evaluation that was graded whole speaks of no regrading", () => {
  expect(evaluateTable(summary({ "graded/completed": 2 }), plain)).not.toContain("regrade");
});
