/** The closed loop as a person runs it: real processes, real sandboxes, killed and resumed. */
import { rm } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "../abuse/leaks.ts";
import {
  dataFolder,
  lastObject,
  startSandlot,
  train,
  waitForEpisodes,
  waitForStep,
  withReader,
} from "../support/train-process.ts";

/** Several whole runs one after another; a loaded machine takes its time. */
const RUNS_MS_MAX = 600_000;

let folder: string;
let baseline: LeakBaseline;

beforeEach(async () => {
  baseline = await leakBaseline();
  folder = await dataFolder();
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
  await expectNoLeaks(baseline);
});

async function finalWeights(from: string, runId: string): Promise<readonly string[]> {
  return withReader(from, async (store) =>
    (await store.steps(runId)).map((step) => `${step.step} ${step.weightsSha256}`),
  );
}

test("train --json ends with one object that has every promised field, and every planned episode ended once", async () => {
  const end = await train(folder).end;
  expect(end.stderr.slice(-2_000), "stderr").not.toContain("unexpected");
  expect(end.code).toBe(0);
  const summary = lastObject(end);
  const rate = { passRate: expect.any(Number), low: expect.any(Number), high: expect.any(Number), episodes: 24 };
  expect(summary).toMatchObject({
    runId: expect.stringMatching(/^[0-9A-Z]{26}$/),
    heldOut: { before: rate, after: rate },
    episodes: 4 * 24 + 6 * 8 * 4,
    outcomes: { "graded/completed": expect.any(Number) },
    verdictsReused: expect.any(Number),
    sandboxesCreated: expect.any(Number),
    wallSeconds: expect.any(Number),
    stepCount: 6,
  });
  const runId = String(summary["runId"]);
  const counts = await withReader(folder, (store) => store.counts(runId));
  expect(counts).toMatchObject({ ready: 0, leased: 0, failed: 0, cancelled: 0, done: 4 * 24 + 6 * 8 * 4 });
});

test("a run killed with SIGKILL leaves nothing behind and resumes to the very weights of a run that was not", {
  timeout: RUNS_MS_MAX,
}, async () => {
  const whole = await train(folder).end;
  const wholeRun = String(lastObject(whole)["runId"]);
  const expected = await finalWeights(folder, wholeRun);
  expect(new Set(expected.map((line) => line.split(" ")[1])).size, "weights differ by step").toBeGreaterThan(3);

  const killedFolder = await dataFolder();
  try {
    const command = train(killedFolder);
    const runId = await waitForStep(killedFolder, 3, command);
    command.child.kill("SIGKILL");
    await command.end;
    await expectNoLeaks(baseline);

    const resumed = await startSandlot(["run", "resume", runId, "--json"], killedFolder).end;
    expect(resumed.stderr.slice(-2_000)).not.toContain("unexpected");
    expect(lastObject(resumed)).toMatchObject({ runId, state: "done", stepCount: 6 });
    expect(await finalWeights(killedFolder, runId)).toEqual(expected);
    const counts = await withReader(killedFolder, (store) => store.counts(runId));
    expect(counts).toMatchObject({ ready: 0, leased: 0, done: 4 * 24 + 6 * 8 * 4 });
  } finally {
    await rm(killedFolder, { recursive: true, force: true });
  }
});

test("a run killed in the middle of a step, far from its checkpoint, lets the right policy answer what was left", async () => {
  const command = train(folder, ["--set", "rl.checkpointEverySteps=6", "--set", "scheduler.episodesMax=2"]);
  const runId = await waitForStep(folder, 3, command);
  await waitForEpisodes(folder, runId, { step: 4, episodes: 3 });
  command.child.kill("SIGKILL");
  await command.end;
  const resumed = await startSandlot(["run", "resume", runId, "--json"], folder).end;
  expect(lastObject(resumed)).toMatchObject({ runId, state: "done", stepCount: 6 });
  const rows = await withReader(folder, (store) => store.episodes(runId, { phase: "train" }));
  expect(rows.filter((row) => row.policyVersionFirst !== row.step - 1)).toEqual([]);
});

test("Ctrl-C finishes the step, saves, and names the command that goes on; a second train meanwhile is refused by name", {
  timeout: RUNS_MS_MAX,
}, async () => {
  const command = train(folder);
  const runId = await waitForStep(folder, 1, command);
  const second = await train(folder).end;
  expect(second.code).toBe(2);
  expect(second.stderr).toContain(runId);
  expect(second.stderr).toContain(String(command.child.pid));

  command.child.kill("SIGINT");
  const end = await command.end;
  expect(end.code).toBe(130);
  expect(end.stderr).toContain("run resume");
  expect(lastObject(end)).toMatchObject({ runId, state: "stopped" });
  const resumed = await startSandlot(["run", "resume", "--json"], folder).end;
  expect(lastObject(resumed)).toMatchObject({ runId, state: "done", stepCount: 6 });
});
