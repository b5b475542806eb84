import { expect, test } from "vitest";
import { wilsonInterval } from "../core/statistics.ts";
import type { TrajectoryRow } from "../core/store.ts";
import type { Task } from "../core/task.ts";
import { summarizeRows } from "./evaluate.ts";

const task = (key: string): Task => ({ key, threshold: 1 }) as unknown as Task;

/** Rows of one task each: rewards in order, null for an episode that failed. */
function rowsOf(rewards: readonly (readonly (number | null)[])[]): TrajectoryRow[] {
  return rewards.flatMap((group, index) =>
    group.map((reward): TrajectoryRow => {
      const isGraded = reward !== null;
      return {
        runId: "r",
        episodeNo: 0,
        groupNo: index + 1,
        member: 0,
        phase: "eval",
        step: 0,
        split: "eval",
        taskKey: "t/same",
        taskRef: "{}",
        outcome: isGraded ? "graded" : "failed",
        cause: isGraded ? "completed" : "infra_during",
        stopReason: isGraded ? "submitted" : null,
        failure: isGraded ? null : "sandbox_lost",
        reward,
        rewardAdopted: null,
        isVerdictReused: false,
        policyVersionFirst: 0,
        policyVersionLast: 0,
        attempts: 1,
        turns: 1,
        sampledTokens: 1,
        durationMs: 1,
        finishedAt: 1,
      };
    }),
  );
}

function summaryOf(rewards: readonly (readonly (number | null)[])[], k: readonly number[] = [1]) {
  const tasks = rewards.map((_group, index) => task(`t/${index}`));
  return summarizeRows(rowsOf(rewards), { runId: "r", tasks, k, seed: 1, dataFolder: "/data" });
}

test("an episode that failed is counted among the outcomes and is no miss", () => {
  const summary = summaryOf([[1], [null], [0.5]]);
  expect(summary).toMatchObject({ episodes: 3, passAt1: { passRate: 0.5, episodes: 2 } });
  expect(summary.outcomes).toEqual({ "graded/completed": 2, "failed/infra_during": 1 });
  expect(summary.byTask[1]).toMatchObject({ graded: 0, meanReward: null });
});

test("two tasks that are the same task each count their own episodes once", () => {
  expect(summaryOf([[1], [0]]).byTask.map(({ solved, graded }) => [solved, graded])).toEqual([
    [1, 1],
    [0, 1],
  ]);
});

test("pass@k of which no task has enough graded episodes is absent, not 0", () => {
  const summary = summaryOf(
    [
      [1, null],
      [1, null],
    ],
    [1, 2],
  );
  expect(summary.passAtK.map(({ k, value }) => [k, value])).toEqual([[1, 1]]);
});

test("sixteen episodes of four tasks do not pass for sixteen independent ones", () => {
  const { passAt1 } = summaryOf([
    [1, 1, 1, 1],
    [1, 1, 1, 1],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ]);
  const independent = wilsonInterval(8, 16);
  expect(passAt1).toMatchObject({ passRate: 0.5, episodes: 16 });
  expect(passAt1.high - passAt1.low).toBeGreaterThan(independent.high - independent.low);
});

test("with one episode a task the interval is Wilson's", () => {
  expect(summaryOf([[1], [1], [0], [1]]).passAt1).toMatchObject(wilsonInterval(3, 4));
});
