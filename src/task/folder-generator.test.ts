import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FolderGenerator } from "../core/task-folder.ts";
import { drawnFolder } from "./draft.ts";
import { folderTaskGenerator, splitOfSeed } from "./folder-generator.ts";
import { readTask } from "./read-folder.ts";
import { writeFolder } from "./write-folder.ts";

const SUMS: FolderGenerator = {
  name: "sums",
  family: "sums",
  version: 1,
  dials: { terms: { min: 2, max: 6, step: 2, meaning: "numbers to add" } },
  draw: ({ dials, random }) => {
    const terms = Array.from({ length: dials["terms"] ?? 0 }, () => random.integer(1, 99));
    return drawnFolder({
      slug: "add-up",
      config: { artifacts: ["/app/sum.txt"], sandlot: { family: "sums" } },
      instruction: `Write the sum of ${terms.join(" and ")} into /app/sum.txt.`,
      image: { base: "host", programs: ["bash"] },
      tests: {
        "unit/test_sum.sh": `check right /usr/bin/grep -qx ${terms.reduce((a, b) => a + b)} /artifacts/app/sum.txt`,
      },
      solution: { solve: `echo ${terms.reduce((a, b) => a + b)} > /app/sum.txt` },
      alternatives: {},
      wrong: { nothing: { solve: "touch /app/sum.txt", rewardMax: 0, failsTier: "unit" } },
    });
  },
};

test("equal seeds and dials give equal bytes, and the task names what rebuilds it", () => {
  const generator = folderTaskGenerator(SUMS);
  const task = generator.generate({ split: "train", index: 3, seed: 7n });
  expect(task.key).toMatch(/^sums\/add-up-[a-z0-9]{6}$/);
  const { seed = "", dials = {} } = task.generator ?? {};
  expect(dials["terms"]).toBeOneOf([2, 4, 6]);
  expect(generator.write({ seed: BigInt(seed), dials })).toEqual(generator.write({ seed: BigInt(seed), dials }));
  expect(generator.generate({ split: "train", index: 3, seed: 7n }).hash).toBe(task.hash);
  expect(generator.generate({ split: "train", index: 4, seed: 7n }).hash).not.toBe(task.hash);
});

test("no seed of one split is ever a seed of another", () => {
  const generator = folderTaskGenerator(SUMS);
  for (const split of generator.splits) {
    for (let index = 0; index < 50; index += 1) {
      expect(splitOfSeed(SUMS, generator.seedOf({ split, index, seed: 1n }))).toBe(split);
    }
  }
});

test("a drawn task written down is read as the same task, and never over what is there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sandlot-drawn-"));
  try {
    const generator = folderTaskGenerator(SUMS);
    const drawn = generator.generate({ split: "eval", index: 0, seed: 1n });
    const { name, files } = generator.write({ seed: BigInt(drawn.generator?.seed ?? ""), dials: {} });
    await writeFolder(join(folder, name), files);
    const { task, warnings } = await readTask(join(folder, name));
    expect(warnings).toEqual([]);
    expect({ ...task, folder: null }).toEqual(drawn);
    await expect(writeFolder(join(folder, name), files)).rejects.toThrow(/is there already; remove it/);
    expect(await readdir(folder)).toEqual([name]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("unknown splits and dials, values between steps and a generator that rejects every draw are refused by name", () => {
  const generator = folderTaskGenerator(SUMS);
  const draw = (dials: Record<string, number>) => () => generator.write({ seed: 1n, dials });
  expect(() => generator.seedOf({ split: "test", index: 0, seed: 1n })).toThrow(/"test" is no split of this generator/);
  expect(draw({ digits: 1 })).toThrow(/"digits" is no dial of this generator; write one of terms/);
  expect(draw({ terms: 3 })).toThrow(/dials\.terms = 3 is not a value from 2 to 6 in steps of 2/);
  const dockerfile = { path: "environment/Dockerfile", bytes: new Uint8Array(), isExecutable: false };
  const built = folderTaskGenerator({
    ...SUMS,
    draw: (input) => {
      const { files = [], ...drawn } = SUMS.draw(input) ?? { slug: "x", config: {} };
      return { ...drawn, files: [...files.filter(({ path }) => path !== "environment/image.toml"), dockerfile] };
    },
  });
  expect(() => built.write({ seed: 1n, dials: {} })).toThrow(/sums\/environment\/Dockerfile: was drawn/);
  let draws = 0;
  const late = folderTaskGenerator({ ...SUMS, draw: (input) => (++draws < 20 ? null : SUMS.draw(input)) });
  expect(late.write({ seed: 1n, dials: {} }).name).toMatch(/^add-up-/);
  const never = folderTaskGenerator({ ...SUMS, draw: () => null });
  expect(() => never.write({ seed: 1n, dials: {} })).toThrow(/gave no task in 20 draws/);
});
