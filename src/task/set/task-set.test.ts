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
