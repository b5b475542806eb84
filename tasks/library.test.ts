/**
 * The library of the families: what every generator promises, held for each by existing. A new folder under
 * `tasks/generator/` whose generator draws folders joins all of these tests. The small size draws two tasks of each
 * family and proves them in real sandboxes; `SANDLOT_TEST_SIZE=long` proves twenty, and every frozen task.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkAll } from "../src/app-check.ts";
import { listImages } from "../src/app-image.ts";
import type { FolderFile } from "../src/core/task-folder.ts";
import { readFolderFiles } from "../src/task/folder-files.ts";
import { type FolderTaskGenerator, type WrittenFolder, writesFolders } from "../src/task/folder-generator.ts";
import { loadGenerator } from "../src/task/generator.ts";
import { readTask, taskOfFiles } from "../src/task/read-folder.ts";
import { writeFolder } from "../src/task/write-folder.ts";

const TIMEOUT_MS = 3_600_000;
const IS_LONG = process.env["SANDLOT_TEST_SIZE"] === "long";
const SEEDS = IS_LONG ? 20 : 2;
const FROZEN_MIN = 5;
/** Stability has its own checks. */
const PROVEN = ["folder-valid", "oracle-passes", "nop-fails", "wrong-rejected", "alternatives-pass"];
/**
 * Families whose tests wait, for brokers that restart and messages that come again: of two whole draws for a quarter of
 * an hour. The small size holds one draw of theirs to the oracle and to doing nothing.
 */
const WAITING = new Set(["queue-work"]);
const PROVEN_BRIEFLY = ["folder-valid", "oracle-passes", "nop-fails"];

const families = await openFamilies();
const images = await builtImages();

describe.each(families)("$name", ({ name, generator }) => {
  const drawn = Array.from({ length: SEEDS }, (_, index) => drawnAt(generator, index));

  test("draws tasks that read without a warning, the same bytes each time, for any seed and at both ends of its dials", () => {
    const ends = (["min", "max"] as const).map((end) =>
      Object.fromEntries(Object.entries(generator.dials).map(([dial, range]) => [dial, range[end]])),
    );
    for (const [index, dials] of [{}, {}, ...ends].entries()) {
      const seed = generator.seedOf({ split: "train", index, seed: 7n });
      const first = generator.write({ seed, dials });
      expect(taskOfFiles(first.name, first.files).warnings, `${first.name} (seed ${seed})`).toEqual([]);
      expect(bytesOf(generator.write({ seed, dials }).files)).toBe(bytesOf(first.files));
    }
  });

  test("has five frozen tasks or more, each as its generator writes it and none like another in what it asks", async () => {
    const frozen = await frozenOf(generator);
    expect(frozen.length).toBeGreaterThanOrEqual(FROZEN_MIN);
    const structures = new Map<string, string>();
    for (const { folder, files, seed, dials } of frozen) {
      const written = generator.write({ seed, dials });
      expect(join("tasks", generator.family, written.name)).toBe(folder);
      expect(bytesOf(files) === bytesOf(written.files), `${folder} is as its generator writes it`).toBe(true);
      const structure = structureOf(files);
      expect(structures.get(structure), `${folder} is like another`).toBeUndefined();
      structures.set(structure, folder);
    }
  });

  test(
    "is honest in real sandboxes: the oracle and every other right way earn 1, nothing earns 0, wrong ways stay below",
    async (context) => {
      const missing = missingImage(drawn);
      if (missing !== null) context.skip(`${name} needs the image ${missing}, which this machine has not built`);
      const top = await mkdtemp(join(tmpdir(), "sandlot-library-"));
      try {
        for (const { name: folder, files } of drawn) await writeFolder(join(top, folder), files);
        const [first] = WAITING.has(name) && !IS_LONG ? drawn : [];
        if (first !== undefined) expect(await faultsOf([join(top, first.name)], PROVEN_BRIEFLY)).toEqual([]);
        else expect(await faultsOf(IS_LONG ? [top, join("tasks", generator.family)] : [top], PROVEN)).toEqual([]);
      } finally {
        await rm(top, { recursive: true, force: true });
      }
    },
    TIMEOUT_MS,
  );
});

test("the families of the library are opened", () => {
  expect(families.map(({ name }) => name)).not.toEqual([]);
});

async function openFamilies(): Promise<{ readonly name: string; readonly generator: FolderTaskGenerator }[]> {
  const folders = readdirSync("tasks/generator", { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join("tasks/generator", entry.name, "generator.ts")))
    .map(({ name }) => name)
    .sort();
  const opened = await Promise.all(
    folders.map(async (name) => ({ name, generator: await loadGenerator(join("tasks/generator", name)) })),
  );
  return opened.flatMap(({ name, generator }) => (writesFolders(generator) ? [{ name, generator }] : []));
}

function drawnAt(generator: FolderTaskGenerator, index: number): WrittenFolder {
  const split = generator.splits[index % generator.splits.length] ?? "train";
  return generator.write({ seed: generator.seedOf({ split, index, seed: BigInt(index + 1) }), dials: {} });
}

async function frozenOf(generator: FolderTaskGenerator) {
  const top = join("tasks", generator.family);
  const names = existsSync(top) ? readdirSync(top).sort() : [];
  const all = await Promise.all(
    names.map(async (name) => {
      const folder = join(top, name);
      const origin = (await readTask(folder)).task.generator;
      if (origin?.name !== generator.name) return [];
      return [{ folder, files: await readFolderFiles(folder), seed: BigInt(origin.seed), dials: origin.dials }];
    }),
  );
  return all.flat();
}

/** What was found wrong below the folders, one line each. */
async function faultsOf(targets: readonly string[], only: readonly string[]): Promise<readonly string[]> {
  const reports = await checkAll(targets, {
    profile: "ci",
    only,
    signal: new AbortController().signal,
  });
  expect(reports).not.toEqual([]);
  return reports.flatMap(({ key, checks }) =>
    checks
      .filter(({ id, status }) => only.includes(id) && status !== "pass")
      .map(({ id, status, evidence }) => `${key}: ${id} ${status}: ${evidence}`),
  );
}

function bytesOf(files: readonly FolderFile[]): string {
  const hash = createHash("sha256");
  for (const { path, bytes, isExecutable } of files) {
    hash.update(`${path}\n${isExecutable} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

/** What has to be done and what is asked of it; names, prose and numbers alone make no other task. */
function structureOf(files: readonly FolderFile[]): string {
  return bytesOf(files.filter(({ path }) => /^(solution\/solve\.sh|tests\/.+)$/.test(path)));
}

/** A stored image that a drawn task needs and this machine lacks; null where there is none. */
function missingImage(drawn: readonly WrittenFolder[]): string | null {
  const needed = drawn.map(({ name, files }) => taskOfFiles(name, files).task.image);
  return needed.find((image) => image !== "host" && !image.startsWith("host") && !images.has(image)) ?? null;
}

async function builtImages(): Promise<ReadonlySet<string>> {
  try {
    return new Set((await listImages()).flatMap(({ references }) => references));
  } catch {
    return new Set();
  }
}
