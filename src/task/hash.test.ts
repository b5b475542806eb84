import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Changes, GOOD_FOLDER, tomlWith, withFolder } from "./folder-fixture-support.ts";
import { filesHash } from "./hash.ts";
import { readTaskFolder } from "./read-folder.ts";

async function hashes(changes: Changes) {
  const { hash, agentHash, verifierHash } = await withFolder(changes, readTaskFolder);
  return { hash, agentHash, verifierHash };
}

test("the same folder has the same hashes wherever it lies", async () => {
  expect(await hashes({})).toEqual(await hashes({}));
});

test.each([
  ["a hidden test", { "tests/unit/test_out.py": `${String(GOOD_FOLDER["tests/unit/test_out.py"])}\n# mended\n` }],
  ["a helper of the tests", { "tests/support/more.py": "x = 1\n" }],
  ["the weight of a tier", tomlWith("weight = 0.5", "weight = 0.7")],
  ["the time of a grading", tomlWith("timeout_sec = 30", "timeout_sec = 31")],
  [
    "a milestone",
    tomlWith('family = "greeting"', 'family = "greeting"\nmilestones = [{ name = "up", predicate = { port = 80 } }]'),
  ],
  [
    "the judge",
    tomlWith(
      'family = "greeting"',
      'family = "greeting"\njudge = { share = 0.2, items = [{ name = "kind", question = "Is it kind?" }] }',
    ),
  ],
  ["a protected path", tomlWith('family = "greeting"', 'family = "greeting"\nprotected = ["/app/tests"]')],
  ["what is collected", tomlWith('["/app/out.txt"]', '["/app/out.txt", "/app/log.txt"]')],
])("mending the verifier (%s) leaves the agent's side as it was", async (_what, changes) => {
  const [before, after] = [await hashes({}), await hashes(changes)];
  expect(after.agentHash).toBe(before.agentHash);
  expect(after.verifierHash).not.toBe(before.verifierHash);
  expect(after.hash).not.toBe(before.hash);
});

test.each([
  ["the instruction", { "instruction.md": "Write the text `hi` into the file `/app/out.txt`.\n" }],
  ["a file of the environment", { "environment/notes/a.txt": "b\n" }],
  ["the set-up", { "environment/setup.sh": "mkdir -p /app/more\n" }],
  ["a visible test", { "visible/test_seen.py": "import sys\n" }],
  ["the agent's time", tomlWith("timeout_sec = 60", "timeout_sec = 61")],
  ["the agent's memory", tomlWith("memory_mb = 128", "memory_mb = 129")],
])("changing what the agent meets (%s) leaves the verifier as it was", async (_what, changes) => {
  const [before, after] = [await hashes({}), await hashes(changes)];
  expect(after.verifierHash).toBe(before.verifierHash);
  expect(after.agentHash).not.toBe(before.agentHash);
  expect(after.hash).not.toBe(before.hash);
});

test.each([
  ["the oracle", { "solution/solve.sh": "echo -n hello > /app/out.txt\n" }],
  ["the description", tomlWith("Write a greeting.", "Greet.")],
  ["a wrong solution", { "wrong/empty/solve.sh": "touch /app/out.txt\n" }],
])("changing %s changes the task and neither of its sides", async (_what, changes) => {
  const [before, after] = [await hashes({}), await hashes(changes)];
  expect(after).toMatchObject({ agentHash: before.agentHash, verifierHash: before.verifierHash });
  expect(after.hash).not.toBe(before.hash);
});

test("leftovers of an interpreter are no part of a task", async () => {
  await withFolder({}, async (folder) => {
    const before = await readTaskFolder(folder);
    await mkdir(join(folder, "tests/unit/__pycache__"));
    await writeFile(join(folder, "tests/unit/__pycache__/test_out.cpython-311.pyc"), "x");
    expect((await readTaskFolder(folder)).hash).toBe(before.hash);
  });
});

test("the executable bit of a file is part of the hash", async () => {
  await withFolder({}, async (folder) => {
    const before = await readTaskFolder(folder);
    await chmod(join(folder, "environment/notes/a.txt"), 0o755);
    expect((await readTaskFolder(folder)).agentHash).not.toBe(before.agentHash);
  });
});

test("the order of files is no matter, and every byte, path and bit is", () => {
  const file = fc.record({
    path: fc.string({ minLength: 1, maxLength: 12 }),
    bytes: fc.uint8Array({ maxLength: 12 }),
    isExecutable: fc.boolean(),
  });
  const files = fc.uniqueArray(file, { selector: ({ path }) => path, minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(files, fc.nat(), (list, at) => {
      expect(filesHash(list.toReversed())).toBe(filesHash(list));
      const index = at % list.length;
      const changed = list.map((entry, number) =>
        number === index ? { ...entry, isExecutable: !entry.isExecutable } : entry,
      );
      const longer = list.map((entry, number) =>
        number === index ? { ...entry, bytes: new Uint8Array([...entry.bytes, 0]) } : entry,
      );
      const renamed = list.map((entry, number) =>
        number === index ? { ...entry, path: `${entry.path}/unseen` } : entry,
      );
      const all = [list, changed, longer, renamed, list.toSpliced(index, 1)].map(filesHash);
      expect(new Set(all).size).toBe(all.length);
    }),
  );
});
