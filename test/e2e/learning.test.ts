/** A learning curve on real sandboxes: the recipe's own model and generator, a third of its steps, the whole loop. */
import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import type { TrainSummary } from "../../src/run/report.ts";
import { expectNoLeaks, leakBaseline } from "../abuse/leaks.ts";
import { dataFolder, lastObject, startSandlot, withReader } from "../support/train-process.ts";

/**
 * Half the smallest gain of five calibration seeds (11 to 15), held-out pass@1 of 300 sampled episodes:
 * 0.140, 0.113, 0.183, 0.057, 0.113.
 */
const GAIN_MIN = 0.028;
/** The seed with which the run below gained 0.183 in calibration. */
const SEED = 13;
const EPISODES = 300;
const STEPS = 20;

const SHORT = [
  `seed=${SEED}`,
  "policy.threads=2",
  "sft.demonstrations=4000",
  "sft.steps=450",
  `rl.steps=${STEPS}`,
  "rl.learningRate=6e-4",
  "rl.groupsPerBatch=24",
  `evaluation.episodes=${EPISODES}`,
  'tasks.heldOutHard=""',
].flatMap((pair) => ["--set", pair]);

test("a run lifts held-out pass@1 over its supervised start, on tokens whose log-probabilities agree", {
  timeout: 900_000,
}, async () => {
  const baseline = await leakBaseline();
  const folder = await dataFolder();
  try {
    const end = await startSandlot(["train", "recipes/first-light.toml", ...SHORT, "--json"], folder).end;
    expect(end.code, end.stderr.slice(-2_000)).toBe(0);
    const summary = lastObject(end) as unknown as TrainSummary;
    const { before, after, greedyBefore, greedyAfter } =
      summary.heldOut ?? expect.fail("both evaluations must have ended");
    expect([before.episodes, after.episodes]).toEqual([EPISODES, EPISODES]);
    expect(after.passRate - before.passRate).toBeGreaterThan(GAIN_MIN);
    // Sampled rates carry the luck of their draws; greedy answers have none, and unchanged weights gain exactly 0.
    expect((greedyAfter?.passRate ?? 0) - (greedyBefore?.passRate ?? 1)).toBeGreaterThan(GAIN_MIN);
    const points = await withReader(folder, (store) =>
      store.points(summary.runId, ["sampling/sampling_logp_difference/max", "kl"]),
    );
    const differences = points.filter((point) => point.id !== "kl").map((point) => point.value);
    expect(differences.length).toBe(STEPS);
    expect(Math.max(...differences)).toBeLessThan(1e-4);
    // The policy moved away from its start, and not further than a few tenths of a nat per token.
    const kl = points.filter((point) => point.id === "kl").at(-1)?.value ?? Number.NaN;
    expect(kl).toBeGreaterThan(0);
    expect(kl).toBeLessThan(1);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await expectNoLeaks(baseline);
  }
});
