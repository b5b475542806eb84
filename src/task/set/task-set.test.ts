import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openGenerator } from "../../app-parts.ts";
import { lockSet, showSet, tasksOf } from "../../app-tasks.ts";
import { openTaskSet } from "./open-set.ts";
import { setGenerator } from "./set-generator.ts";

const SHIPPED = resolve("tasks");

/** The set that a text describes, in a folder of its own that holds copies of two shipped tasks. */
async function withSet<T>(text: string, use: (file: string, folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "sandlot-set-"));
  try {
    await cp(join(SHIPPED, "sql-query/answer-sql-sqlite"), join(folder, "mine/query"), { recursive: true });
    await cp(join(SHIPPED, "shell-files/tidy-shell-files"), join(folder, "mine/files"), { recursive: true });
    const file = join(folder, "set.toml");
    await writeFile(file, text);
    return await use(file, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const HEAD = 'name = "mine"\nversion = 1\n';
const FOLDERS = `${HEAD}[[tasks]]\npath = "mine/query"\nsplit = "eval"\n[[tasks]]\npath = "mine/files"\nweight = 3\n`;
const DRAWN = `[[tasks]]\ngenerator = "${SHIPPED}/generator/first-light"\ncount = 4\nseed = 7\n`;

test("a set names folders and generators with splits and weights, and serves wherever a generator does", async () => {
  await withSet(FOLDERS + DRAWN, async (file) => {
    const set = await openTaskSet(file, { openGenerator });
    expect(set.tasks.map(({ split, weight }) => [split, weight])).toEqual([
      ["eval", 1],
      ["train", 3],
      ...Array.from({ length: 4 }, () => ["train", 0.25]),
    ]);
    const generator = setGenerator(set);
    const draw = (index: number) => generator.generate({ split: "train", index, seed: 1n }).family;
    const families = Array.from({ length: 200 }, (_, index) => draw(index));
    const share = families.filter((family) => family === "shell-files").length / families.length;
    expect(share).toBeGreaterThan(0.6);
    expect(share).toBeLessThan(0.9);
    expect(families).toEqual(Array.from({ length: 200 }, (_, index) => draw(index)));
    const { tasks, taskSet } = await tasksOf(file, { split: null, tasksMax: 1, seed: 1 });
    expect([tasks.map(({ key }) => key), taskSet]).toEqual([["sandlot/answer-sql-sqlite"], "mine@1/eval"]);
  });
});

test("a locked version refuses tasks that changed, and a later one says what did", async () => {
  await withSet(FOLDERS, async (file, folder) => {
    expect((await lockSet(file)).tasks).toHaveLength(2);
    const solution = join(folder, "mine/files/solution/solve.sh");
    await writeFile(solution, `${await readFile(solution, "utf8")}true\n`);
    await expect(openTaskSet(file, { openGenerator })).rejects.toThrow(
      /set\.toml: version = 1 is locked with other tasks: sandlot\/tidy-shell-files changed its solutions; raise version/,
    );
    await expect(lockSet(file)).rejects.toThrow(/version = 1 is not above the locked 1/);
    await writeFile(file, FOLDERS.replace("version = 1", "version = 2"));
    expect((await showSet(file)).changes).toEqual(["sandlot/tidy-shell-files changed its solutions"]);
    expect((await lockSet(file)).changed).toEqual(["sandlot/tidy-shell-files changed its solutions"]);
    expect((await openTaskSet(file, { openGenerator })).version).toBe(2);
  });
});

test("a lock says what moved, what came, what went, and which side of a task changed", async () => {
  await withSet(FOLDERS, async (file, folder) => {
    await lockSet(file);
    const instruction = join(folder, "mine/files/instruction.md");
    await writeFile(instruction, `${await readFile(instruction, "utf8")}More.\n`);
    const tests = join(folder, "mine/query/tests/support/shop.py");
    await writeFile(tests, `${await readFile(tests, "utf8")}\n`);
    expect((await showSet(file)).changes).toEqual([
      "sandlot/answer-sql-sqlite changed its verifier",
      "sandlot/tidy-shell-files changed what the agent meets",
    ]);
    const moved = FOLDERS.replace('path = "mine/query"\nsplit = "eval"', 'path = "mine/query"\nsplit = "held-out"');
    await writeFile(
      file,
      moved.replace('path = "mine/files"', `generator = "${SHIPPED}/generator/first-light"\ncount = 1`),
    );
    expect((await showSet(file)).changes).toEqual([
      "sandlot/answer-sql-sqlite moved from eval to held-out",
      "sandlot/tidy-shell-files is gone",
      expect.stringMatching(/^first-light\/.+ is new$/),
    ]);
  });
});

/** Changes a copy of the query task, as `mine/other`. */
async function addOther(folder: string, change: (text: string) => string, file = "task.toml"): Promise<void> {
  await cp(join(folder, "mine/query"), join(folder, "mine/other"), { recursive: true });
  const path = join(folder, "mine/other", file);
  await writeFile(path, change(await readFile(path, "utf8")));
}

test("a task is in one split alone, whatever it is called, and two tasks do not share a name", async () => {
  const both = `${HEAD}[[tasks]]\npath = "mine/query"\nsplit = "eval"\n[[tasks]]\npath = "mine/other"\n`;
  await withSet(both, async (file, folder) => {
    // The agent meets the same, under another name and with another solution.
    await addOther(folder, (text) => `${text}true\n`, "solution/solve.sh");
    const toml = join(folder, "mine/other/task.toml");
    await writeFile(toml, (await readFile(toml, "utf8")).replace("answer-sql-sqlite", "another"));
    await expect(openTaskSet(file, { openGenerator })).rejects.toThrow(
      /is in the split eval and, as .*another, in train/,
    );
  });
  await withSet(both, async (file, folder) => {
    await addOther(folder, (text) => `${text}More.\n`, "instruction.md");
    await expect(openTaskSet(file, { openGenerator })).rejects.toThrow(/answer-sql-sqlite" names two different tasks/);
  });
  const origin = '\n[sandlot.generator]\nmodule = "drawn"\nversion = 1\nseed = "7"\n';
  await withSet(both, async (file, folder) => {
    await addOther(folder, (text) => text.replace("answer-sql-sqlite", "another") + origin);
    for (const name of ["query", "other"]) {
      const path = join(folder, "mine", name, "instruction.md");
      await writeFile(path, `${await readFile(path, "utf8")}As ${name}.\n`);
    }
    const toml = join(folder, "mine/query/task.toml");
    await writeFile(toml, (await readFile(toml, "utf8")) + origin);
    await expect(openTaskSet(file, { openGenerator })).rejects.toThrow(
      /is in the split eval and, as .*another, in train/,
    );
  });
});

test("a filter keeps tasks of the wanted levels alone", async () => {
  const keysOf = async (filter: string): Promise<readonly string[]> =>
    withSet(`${HEAD}[[tasks]]\npath = "mine"\nfilter = { ${filter} }\n`, async (file, folder) => {
      const toml = join(folder, "mine/query/task.toml");
      await writeFile(toml, (await readFile(toml, "utf8")).replace(/level = \d/, "level = 5"));
      return (await openTaskSet(file, { openGenerator })).tasks.map(({ task }) => task.key);
    });
  expect(await keysOf("level_max = 4")).toEqual(["sandlot/tidy-shell-files"]);
  expect(await keysOf("level_min = 5")).toEqual(["sandlot/answer-sql-sqlite"]);
});

test.each([
  ["a task in two splits", `${FOLDERS}[[tasks]]\npath = "mine/query"\n`, /answer-sql-sqlite" is in the split eval and/],
  ["the seeds of one split in another", `${HEAD}${DRAWN}split = "train"\n${DRAWN}split = "eval"\n`, null],
  [
    "neither path nor generator",
    `${HEAD}[[tasks]]\nweight = 2\n`,
    /set\.toml:3: tasks\[0\] names a path and a generator/,
  ],
  ["a count of a folder", `${HEAD}[[tasks]]\npath = "mine"\ncount = 3\n`, /has count, which is for generators/],
  [
    "a filter that leaves nothing",
    `${HEAD}[[tasks]]\npath = "mine"\nfilter = { families = ["x"] }\n`,
    /leaves none of 2/,
  ],
  ["an unknown key", `${HEAD}[[tasks]]\npath = "mine"\nwieght = 3\n`, /wieght.*weight/],
  ["a folder that is not there", `${HEAD}[[tasks]]\npath = "other"\n`, /other is not a folder/],
  ["no version", 'name = "mine"\n[[tasks]]\npath = "mine"\n', /version = "missing" must be a whole number/],
])("a set with %s is refused by name, unless splits keep them apart", async (_what, text, message) => {
  await withSet(text, async (file) => {
    const opened = openTaskSet(file, { openGenerator });
    if (message === null) await expect(opened).resolves.toMatchObject({ name: "mine" });
    else await expect(opened).rejects.toThrow(message);
  });
});
