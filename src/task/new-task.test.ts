import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newTask } from "../app-tasks.ts";
import { readTask } from "./read-folder.ts";

test("a new task is a whole one of its family under a name of its own, tied to no generator", async () => {
  const out = await mkdtemp(join(tmpdir(), "sandlot-new-"));
  try {
    const folder = await newTask("math-exact", "my-sum", { out, seed: 1 });
    const { task, warnings } = await readTask(folder);
    expect(warnings).toEqual([]);
    expect(task).toMatchObject({ key: "local/my-sum", family: "math-exact", generator: null });
    expect(await readFile(join(folder, "task.toml"), "utf8")).not.toContain("[sandlot.generator]");
    await expect(newTask("math-exact", "my-sum", { out, seed: 2 })).rejects.toThrow(/is there already/);
    await expect(newTask("math-exatc", "x", { out, seed: 1 })).rejects.toThrow(/did you mean math-exact/);
    await expect(newTask("math-exact", "My task", { out, seed: 1 })).rejects.toThrow(/is not a kebab-case name/);
  } finally {
    await rm(out, { recursive: true });
  }
});
