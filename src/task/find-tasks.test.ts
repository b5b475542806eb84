import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findTasks } from "./find-tasks.ts";
import { loadGenerator } from "./generator.ts";

let top = "";

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "sandlot-task-set-"));
});

afterEach(() => rm(top, { recursive: true, force: true }));

async function put(path: string, text = ""): Promise<void> {
  await mkdir(join(top, path, ".."), { recursive: true });
  await writeFile(join(top, path), text);
}

test("task folders and generators are found at any depth, in order, and nothing inside a task", async () => {
  await put("python/repair/task.toml");
  await put("python/repair/environment/task.toml");
  await put("generator/light/generator.ts");
  await put("a/task.toml");
  await put("node_modules/x/task.toml");
  await put(".hidden/task.toml");
  expect((await findTasks(top)).map(({ kind, path }) => [kind, path])).toEqual([
    ["folder", "a"],
    ["generator", "generator/light"],
    ["folder", "python/repair"],
  ]);
});

test("a task folder is found by its own name", async () => {
  await put("task.toml");
  expect(await findTasks(top)).toEqual([{ kind: "folder", folder: top, path: "." }]);
});

test("the shipped library holds its tasks by family, and a generator for each that has one", async () => {
  const found = await findTasks("tasks");
  const folders = found.filter(({ kind }) => kind === "folder").map(({ path }) => path);
  expect(folders).toContain("shell-files/tidy-shell-files");
  expect(folders.every((path) => path.split("/").length === 2)).toBe(true);
  const generators = found.filter(({ kind }) => kind === "generator").map(({ path }) => path);
  expect(generators).toContain("generator/first-light");
  expect(generators.every((path) => path.startsWith("generator/"))).toBe(true);
});

test("a root without tasks, and one that is not there, say what to name instead", async () => {
  await expect(findTasks(top)).rejects.toMatchObject({ code: "task_not_found" });
  await expect(findTasks(join(top, "nowhere"))).rejects.toThrow(/nowhere is not a folder; name a task folder/);
});

const GOOD = `{
  name: "light", version: 1, dials: {}, splits: ["train"], generate() { return this.version; },
  demonstrations: null, alphabet: null,
}`;

test("a generator is loaded as it is, with its methods bound to it", async () => {
  await put("generator.ts", `export const generator = ${GOOD};\n`);
  const generator = await loadGenerator(top);
  expect(generator.name).toBe("light");
  expect(generator.generate({ split: "train", index: 0, seed: 0n })).toBe(1);
});

test("a built generator is found and loaded as well", async () => {
  await put("built/generator.js", `export const generator = ${GOOD};\n`);
  expect(await findTasks(top)).toMatchObject([{ kind: "generator", path: "built" }]);
  expect((await loadGenerator(join(top, "built"))).name).toBe("light");
});

test.each([
  ["no file", null, /generator\.ts: is missing; add it/],
  ["a file that does not load", "export const generator = {", /generator\.ts: cannot be loaded/],
  ["a file that throws", 'throw new Error("boom");', /generator\.ts: cannot be loaded \(boom\)/],
  [
    "another export",
    `export const generater = ${GOOD};`,
    /generator\.ts: generator is not exported; rename the export generater/,
  ],
  [
    "an odd name",
    `export const generator = ${GOOD.replace('"light"', '"Light it"')};`,
    /generator\.name must be in kebab-case/,
  ],
  [
    "no version",
    `export const generator = ${GOOD.replace("version: 1", "version: 0.5")};`,
    /generator\.version must be a whole number/,
  ],
  [
    "no splits",
    `export const generator = ${GOOD.replace('["train"]', "[]")};`,
    /generator\.splits must name at least one/,
  ],
  [
    "a split twice",
    `export const generator = ${GOOD.replace('["train"]', '["train", "train"]')};`,
    /generator\.splits names a split twice/,
  ],
  [
    "no function",
    `export const generator = ${GOOD.replace("generate() { return this.version; }", "generate: 1")};`,
    /generator\.generate must be a function/,
  ],
  [
    "half an alphabet",
    `export const generator = ${GOOD.replace("alphabet: null", 'alphabet: { characters: "" }')};`,
    /generator\.alphabet must be/,
  ],
  [
    "odd demonstrations",
    `export const generator = ${GOOD.replace("demonstrations: null", "demonstrations: 3")};`,
    /generator\.demonstrations must be a function or null/,
  ],
])("a generator that is none is refused by file, field and remedy: %s", async (_what, text, message) => {
  if (text !== null) await put("generator.ts", text);
  await expect(loadGenerator(top)).rejects.toThrow(message);
  await expect(loadGenerator(top)).rejects.toMatchObject({ code: "task_invalid" });
});
