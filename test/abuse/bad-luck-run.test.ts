/** Runs that meet bad luck on disk, as real processes: damaged checkpoints and a full disk, told clearly, losing nothing. */
import { execFileSync } from "node:child_process";
import { cp, mkdir, readdir, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type CommandEnd,
  dataFolder,
  lastObject,
  startSandlot,
  train,
  waitForStep,
  withReader,
} from "../support/train-process.ts";
import { MISSING, testUnless } from "../support/unless.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

const SMALL = ["rl.steps=8", "evaluation.episodes=8"].flatMap((pair) => ["--set", pair]);

let baseline: LeakBaseline;
let folder: string;
let runId: string;
let checkpoints: string;

/** A run killed after its second checkpoint, for all tests of this file to damage and mend. */
beforeAll(async () => {
  baseline = await leakBaseline();
  folder = await dataFolder();
  const command = train(folder, SMALL);
  runId = await waitForStep(folder, 5, command);
  command.child.kill("SIGKILL");
  await command.end;
  checkpoints = join(folder, "runs", runId, "checkpoints");
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await expectNoLeaks(baseline);
});

function resume(): Promise<CommandEnd> {
  return startSandlot(["run", "resume", runId, "--json"], folder).end;
}

async function weightsByStep(): Promise<ReadonlyMap<number, string>> {
  const steps = await withReader(folder, (store) => store.steps(runId));
  return new Map(steps.map(({ step, weightsSha256 }) => [step, weightsSha256]));
}

async function newestCheckpoints(): Promise<readonly [string, string]> {
  const [newest, earlier] = (await readdir(checkpoints))
    .filter((name) => name.startsWith("rl-"))
    .sort()
    .reverse();
  if (newest === undefined || earlier === undefined) throw new Error("the run has not saved twice");
  return [newest, earlier];
}

const DAMAGES: readonly (readonly [string, string, (path: string) => Promise<void>])[] = [
  ["cut weights", "model.safetensors", (path) => truncate(path, 1_000)],
  ["cut moments", "optimizer.safetensors", (path) => truncate(path, 1_000)],
  ["a state that is no JSON", "state.json", (path) => writeFile(path, "{")],
  ["no state", "state.json", (path) => rm(path)],
];

test.each(DAMAGES)(
  "a newest checkpoint with %s is named with the way to go on, and nothing is lost",
  async (_what, file, harm) => {
    const [newest, earlier] = await newestCheckpoints();
    const before = await weightsByStep();
    await cp(join(checkpoints, newest), join(folder, "aside"), { recursive: true });
    await harm(join(checkpoints, newest, file));
    const { code, stderr } = await resume();
    expect([code, stderr]).toEqual([2, expect.stringContaining(join(checkpoints, newest, file))]);
    expect(stderr).toContain(`this goes on from ${earlier}: sandlot run resume ${runId}`);
    await rm(join(checkpoints, newest), { recursive: true });
    await rename(join(folder, "aside"), join(checkpoints, newest));
    expect(await weightsByStep()).toEqual(before);
  },
);

test("a run whose reference checkpoint is gone does not go on with another one", async () => {
  await rename(join(checkpoints, "sft-done"), join(folder, "aside"));
  const { code, stderr } = await resume();
  expect([code, stderr]).toEqual([2, expect.stringMatching(/no checkpoint sft-done.*the reference of this run/)]);
  await rename(join(folder, "aside"), join(checkpoints, "sft-done"));
});

test("with the newest checkpoint moved away a run goes on from the one before, to the weights it had reached", async () => {
  const [newest] = await newestCheckpoints();
  const before = await weightsByStep();
  expect(new Set(before.values()).size, "weights differ by step").toBeGreaterThan(3);
  await rename(join(checkpoints, newest), join(folder, "aside"));
  const end = await resume();
  expect(lastObject(end)).toMatchObject({ runId, state: "done", stepCount: 8 });
  const after = await weightsByStep();
  for (const [step, sha256] of before) expect([step, after.get(step)]).toEqual([step, sha256]);
});

testUnless(MISSING.root)(
  "a full disk ends a run by naming its folder and what to do, and with room it goes on to its end",
  async () => {
    const disk = join(folder, "small disk");
    await mkdir(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2600k", "sandlot-test", disk]);
    try {
      const full = await train(disk, SMALL).end;
      expect(full.code).toBe(3);
      expect(full.stderr).toMatch(/disk.*is full.*Free space/);
      expect(full.stderr).toContain(disk);
      expect(full.stderr).not.toMatch(/\n\s+at |mistake of Sandlot/);
      execFileSync("mount", ["-o", "remount,size=64m", disk]);
      const resumed = await startSandlot(["run", "resume", "--json"], disk).end;
      expect(lastObject(resumed)).toMatchObject({ state: "done", stepCount: 8 });
      const counts = await withReader(disk, (store) => store.counts(String(lastObject(resumed)["runId"])));
      expect(counts).toMatchObject({ ready: 0, leased: 0, failed: 0 });
    } finally {
      execFileSync("umount", [disk]);
    }
  },
);
