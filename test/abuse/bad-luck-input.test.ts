/** Mistakes in what a person hands in, through the command line: each is named with its remedy before anything starts. */
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { dataFolder, startSandlot } from "../support/train-process.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

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

const FIRST_LIGHT = "recipes/first-light.toml";

test.each([
  ["an unknown key", ["--set", "rl.grupSize=8"], /rl\.grupSize.*rl\.groupSize|grupSize.*groupSize/],
  ["a wrong type", ["--set", 'rl.steps="many"'], /rl\.steps.*many/],
  ["a value out of range", ["--set", "rl.groupSize=1"], /rl\.groupSize.*>=2/],
  ["an unknown split to train on", ["--set", "tasks.train=trian"], /tasks\.train is "trian".*held-out/],
  ["an unknown held-out split", ["--set", "tasks.heldOut=none"], /tasks\.heldOut is "none".*held-out/],
  ["a folder without a generator", ["--set", "tasks.generator=../docs"], /generator\.ts.*missing/],
])("a recipe with %s is refused by name, and nothing is started", async (_what, args, message) => {
  const { code, stdout, stderr } = await startSandlot(["train", FIRST_LIGHT, ...args], join(folder, "data")).end;
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/\n\s+at |mistake of Sandlot/);
  expect(existsSync(join(folder, "data"))).toBe(false);
});

const GENERATOR_FAULTS = [
  ["throws while it is loaded", 'throw new Error("out of cheese");\n', "out of cheese"],
  ["does not parse", "export const generator = {{{\n", "generator.ts"],
  ["exports something else", "export const generator = 7;\n", "generator"],
] as const;

test.each(GENERATOR_FAULTS)("a generator that %s is named, and nothing is started", async (_what, text, message) => {
  await mkdir(join(folder, "broken"));
  await writeFile(join(folder, "broken", "generator.ts"), text);
  const args = ["train", FIRST_LIGHT, "--set", `tasks.generator=${join(folder, "broken")}`];
  const { code, stderr } = await startSandlot(args, join(folder, "data")).end;
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/\n\s+at |mistake of Sandlot/);
  expect(code).toBe(2);
  expect(existsSync(join(folder, "data"))).toBe(false);
});

test("a data folder that is a file is named with the variable that chooses another", async () => {
  await writeFile(join(folder, "data"), "");
  const { code, stderr } = await startSandlot(["train", FIRST_LIGHT], join(folder, "data")).end;
  expect([code, stderr]).toEqual([3, expect.stringMatching(/data.*SANDLOT_DATA/)]);
});
