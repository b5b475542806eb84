import { execFileSync } from "node:child_process";
import { mkdir, rename, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Task } from "../core/task.ts";
import { type Changes, GOOD_FOLDER, tomlWith, withFolder } from "./folder-fixture-support.ts";
import { readTask, readTaskFolder } from "./read-folder.ts";

const SHIPPED = [
  "sql-query/answer-sql-sqlite",
  "service-config/mend-service-config",
  "code-repair-python/repair-python-statistics",
  "shell-files/tidy-shell-files",
];

function read(changes: Changes): Promise<Task> {
  return withFolder(changes, readTaskFolder);
}

test("a task folder is read whole", async () => {
  const { task, warnings } = await withFolder({}, readTask);
  expect(warnings).toEqual([]);
  expect(task).toMatchObject({
    key: "sandlot/greet",
    family: "greeting",
    description: "Write a greeting.",
    workdir: "/app",
    agentUser: "agent",
    network: { mode: "off" },
    limits: {
      turnsMax: 50,
      tokensMax: 128_000,
      agentMs: 60_000,
      commandMs: 60_000,
      gradeMs: 30_000,
      episodeMs: 390_000,
    },
    resources: { cpus: 1, memoryBytes: 128 * 2 ** 20, diskBytes: 2 ** 30, processesMax: 512 },
    contract: { state: "declared", files: [{ path: "/app/out.txt", required: false }] },
    gradingSeed: "fresh",
    threshold: 1,
    generator: null,
  });
  expect(task.files.map(({ path, mode }) => [path, mode])).toEqual([
    ["/app/notes/a.txt", 0o600],
    ["/visible/test_seen.py", 0o644],
  ]);
  expect(task.setup).toContain("command -v bash");
  expect(task.setup).toContain("mkdir -p /app\n");
  expect(task.oracle).toMatchObject({ name: "oracle", answer: null, commands: ["bash /solution/solve.sh"] });
  expect(task.oracle.files.map(({ path }) => path)).toEqual(["/solution/solve.sh"]);
  expect(task.alternatives.map(({ name }) => name)).toEqual(["python"]);
  expect(task.wrong.map(({ script, rewardMax, failsTier }) => [script.name, rewardMax, failsTier])).toEqual([
    ["empty", 0, "unit"],
    ["line-end", 0.5, "boundary"],
  ]);
});

test("hidden tests, solutions and wrong solutions are never among the files the agent gets", async () => {
  const task = await read({});
  const paths = task.files.map(({ path }) => path);
  expect(paths.filter((path) => /^\/(tests|solution|wrong)/.test(path))).toEqual([]);
  expect(task.verifier.kind === "tests" && task.verifier.files.map(({ path }) => path)).toEqual([
    "/tests/boundary/test_out.py",
    "/tests/unit/test_out.py",
  ]);
});

test("without declared artifacts the whole work folder crosses to grading", async () => {
  const task = await read(tomlWith('artifacts = ["/app/out.txt"]', ""));
  expect(task.contract).toMatchObject({ state: "workdir", files: [] });
});

test("the old spellings of memory, storage and version are read", async () => {
  const text = String(GOOD_FOLDER["task.toml"])
    .replace('schema_version = "1.4"', 'version = "1.0"')
    .replace("memory_mb = 128", 'memory = "1.5G"\nstorage = "64M"');
  const { task, warnings } = await withFolder({ "task.toml": text }, readTask);
  expect(warnings).toEqual([]);
  expect(task.resources).toMatchObject({ memoryBytes: 1536 * 2 ** 20, diskBytes: 64 * 2 ** 20 });
});

test("an unknown key of another reader is kept and reported, with line and nearest key", async () => {
  const { warnings } = await withFolder(tomlWith("timeout_sec = 60", "timeout_secs = 60"), readTask);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/task\.toml:9: agent\.timeout_secs is not a known key .*timeout_sec/);
});

test("a later version of the format is read with a warning", async () => {
  const { warnings } = await withFolder(tomlWith('"1.4"', '"1.9"'), readTask);
  expect(warnings.join()).toMatch(/task\.toml:1: schema_version = "1\.9" is newer than this reader/);
});

test("a task that asks for shared grading is told that it is graded separately", async () => {
  const { warnings } = await withFolder(tomlWith("timeout_sec = 30", 'environment_mode = "shared"'), readTask);
  expect(warnings.join()).toMatch(/task\.toml:12: verifier\.environment_mode = "shared" is graded separately/);
});

test("a file of the environment that is placed nowhere, and a stray folder, are pointed out", async () => {
  const { warnings } = await withFolder({ "environment/forgotten.txt": "x", "visibel/test_a.py": "x" }, readTask);
  expect(warnings).toEqual([
    expect.stringMatching(
      /environment\/forgotten\.txt: is placed nowhere; name it in files of environment\/image\.toml/,
    ),
    expect.stringMatching(/visibel: belongs to no part of a task; rename it to visible/),
  ]);
});

test("a link is refused, wherever it points, and nothing behind it is read", async () => {
  await withFolder({}, async (folder) => {
    await symlink("/etc/passwd", join(folder, "environment/notes/b.txt"));
    await expect(readTaskFolder(folder)).rejects.toThrow(
      /environment\/notes\/b\.txt: is a link.*put the file itself there/,
    );
  });
  await withFolder({}, async (folder) => {
    await rename(join(folder, "tests"), join(folder, "..", "tests"));
    await symlink("../tests", join(folder, "tests"));
    await expect(readTaskFolder(folder)).rejects.toThrow(/greet\/tests: is a link/);
  });
});

test("a huge file is refused before it is read", async () => {
  await withFolder({}, async (folder) => {
    await writeFile(join(folder, "environment/notes/big.bin"), "");
    await truncate(join(folder, "environment/notes/big.bin"), 1e12);
    await expect(readTaskFolder(folder)).rejects.toThrow(
      /big\.bin: size = 1000000000000 is over \d+ bytes; make large inputs/,
    );
  });
});

test("a pipe, which would block a reader for ever, is refused", async () => {
  await withFolder({}, async (folder) => {
    execFileSync("mkfifo", [join(folder, "tests/unit/pipe")]);
    await expect(readTaskFolder(folder)).rejects.toThrow(/tests\/unit\/pipe: is neither a regular file nor a folder/);
  });
});

test("a file name that is not plain text is refused", async () => {
  await withFolder({ "environment/notes/two\nlines": "x" }, async (folder) => {
    await expect(readTaskFolder(folder)).rejects.toThrow(
      /environment\/notes: file name = "two\\nlines" holds a control/,
    );
  });
  await withFolder({}, async (folder) => {
    await writeFile(Buffer.concat([Buffer.from(`${folder}/tests/`), Buffer.from([0xff])]), "x");
    await expect(readTaskFolder(folder)).rejects.toThrow(/not UTF-8; rename that file/);
  });
});

test("a folder that is none is refused by its name", async () => {
  await expect(readTaskFolder("/nowhere/at/all")).rejects.toThrow(/\/nowhere\/at\/all: is not a folder; name a folder/);
});

test("folders deeper than the limit are refused", async () => {
  await withFolder({}, async (folder) => {
    const deep = join(folder, "environment", ...Array.from({ length: 40 }, () => "d"));
    await mkdir(deep, { recursive: true });
    await writeFile(join(deep, "f"), "");
    await expect(readTaskFolder(folder)).rejects.toThrow(/lies deeper than 32 folders/);
  });
});

test.each(SHIPPED)(
  "the shipped task %s is read without a warning, with its oracle and at least two wrong solutions",
  async (name) => {
    const { task, warnings } = await readTask(join("tasks", name));
    expect(warnings).toEqual([]);
    expect(task.key).toBe(`sandlot/${name.split("/")[1]}`);
    expect(task.verifier.tiers.map((tier) => tier.name)).toEqual(["unit", "integration", "boundary"]);
    expect(task.wrong.length).toBeGreaterThanOrEqual(2);
    expect(task.alternatives.length).toBeGreaterThanOrEqual(1);
  },
);
