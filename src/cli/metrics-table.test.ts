import { expect, test } from "vitest";
import { METRICS } from "../observe/catalogue.ts";
import { metricsTable } from "./metrics-table.ts";

test("each stored metric is shown once, first and last by step, with its meaning; totals are left out", () => {
  const text = metricsTable(
    [
      { id: "my/own", step: 1, value: 3 },
      { id: "reward", step: 2, value: 0.75 },
      { id: "reward", step: 1, value: 0.5 },
      { id: "total/run/wall_seconds", step: 0, value: 9 },
    ],
    METRICS,
  );
  const [, reward, own, ...rest] = text.split("\n");
  expect(reward).toMatch(/^reward\s+0\.500\s+0\.750\s+1\s+more\s+Mean of the group means of the reward\.$/);
  expect(own).toMatch(/^my\/own\s+3/);
  expect(rest).toEqual([]);
});

test("a run without metrics says so", () => {
  expect(metricsTable([], METRICS)).toBe("No metric yet.");
});
