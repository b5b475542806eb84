import { expect, test } from "vitest";
import type { PassRate } from "../core/events.ts";
import type { TrainSummary } from "../run/report.ts";
import { trainTable } from "./train-table.ts";

const look = { width: 80, paint: (_style: string, text: string) => text };

function rate(passRate: number, low: number, high: number): PassRate {
  return { passRate, low, high, episodes: 400 };
}

const summary: TrainSummary = {
  runId: "01K8RA5X2M3N4P5Q6R7S8T9V0W",
  name: "first-light",
  state: "done",
  reason: null,
  heldOut: {
    before: rate(0.312, 0.269, 0.359),
    after: rate(0.602, 0.553, 0.649),
    greedyBefore: rate(0.36, 0.314, 0.408),
    greedyAfter: rate(0.64, 0.592, 0.686),
    hardBefore: rate(0.1, 0.074, 0.133),
    hardAfter: rate(0.2, 0.164, 0.242),
  },
  episodes: 17_760,
  outcomes: { "graded/completed": 17_650, "graded/policy_limit": 100, "failed/infra_during": 10 },
  verdictsReused: 6_012,
  sandboxesCreated: 11_748,
  wallSeconds: 312.4,
  stepCount: 60,
  secondsByPhase: { setup: 1.2, sft: 60.3, "evaluate-before": 20, rl: 210, "evaluate-after": 20 },
  secondsByEpisodePhase: { queue: 100, model: 300, verify: 800, commit: 40 },
  effectiveEpisodesPerCoreHour: 81_234,
  dataFolder: "/data/.sandlot",
  diskBytes: 123_456_789,
  rewardByStep: [0.2, 0.3, 0.4],
};

test("the table says whether RL helped, with intervals, episodes and the difference", () => {
  const text = trainTable(summary, look);
  expect(text).toMatch(/sampled +0\.312 \[0\.269, 0\.359\] +0\.602 \[0\.553, 0\.649\] +\+0\.290 +400/);
  expect(text).toMatch(/greedy +0\.360 .* 0\.640 .* \+0\.280 +400/);
  expect(text).toMatch(/harder +0\.100 .* 0\.200 .* \+0\.100 +400/);
  expect(text).toContain("do not overlap");
});

test("the table says what it took, where it lies, and gives three commands with real ids", () => {
  const text = trainTable(summary, look);
  for (const part of ["17,760", "11,748", "6,012 (33.9 % of episodes)", "failed/infra_during 10", "81,234"]) {
    expect(text).toContain(part);
  }
  expect(text).toContain("/data/.sandlot (117.7 MiB)");
  expect(text).toContain("verify 13 min 20 s (65 %)");
  expect(text).toContain("▁");
  expect(text).toContain(`episode show latest 17760`);
  expect(text.match(/^ {2}# /gm)).toHaveLength(3);
});

test("the times of phases stand in the order of the run, however the record has them", () => {
  const secondsByPhase = { "evaluate-before": 20, rl: 210, sft: 60, "evaluate-after": 20, setup: 10 };
  const text = trainTable({ ...summary, secondsByPhase }, look).replace(/\s+/g, " ");
  expect(text).toMatch(/setup 10.* sft 1 min.* evaluate-before 20.* rl 3 min.* evaluate-after 20/);
});

test("every line but a command fits into 80 columns", () => {
  const lines = trainTable(summary, look).split("\n");
  const commands = lines.findIndex((line) => line.startsWith("Worth trying"));
  for (const line of lines.slice(0, commands)) expect([...line].length).toBeLessThanOrEqual(80);
});

test("intervals that overlap are not sold as a difference", () => {
  const heldOut = { ...(summary.heldOut as NonNullable<TrainSummary["heldOut"]>), after: rate(0.33, 0.28, 0.38) };
  expect(trainTable({ ...summary, heldOut }, look)).toContain("no sure difference");
});

test("a stopped run says why, that nothing can be compared, and how to go on", () => {
  const text = trainTable({ ...summary, state: "stopped", reason: "stopped after step 3", heldOut: null }, look);
  expect(text).toContain("stopped after 5 min 12 s: stopped after step 3");
  expect(text).toContain("not compared: the run ended before the evaluation after RL");
  expect(text).toContain(`run resume ${summary.runId}`);
});
