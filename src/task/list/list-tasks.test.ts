import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openGenerator } from "../../app-parts.ts";
import { listTasks } from "./list-tasks.ts";

test("a long list is read by threads as by one, and one bad task spoils no other", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-list-"));
  try {
    for (let index = 0; index < 60; index += 1) {
      cpSync("tasks/shell-files/tidy-shell-files", join(folder, `t${index}`), { recursive: true });
    }
    writeFileSync(join(folder, "t7", "task.toml"), "sandlot = 3\n");
    const [one, two] = [
      await listTasks(folder, { openGenerator, threads: 1 }),
      await listTasks(folder, { openGenerator, threads: 2, foldersOfOneThread: 1 }),
    ];
    expect(two).toEqual(one);
    expect(one).toHaveLength(60);
    const faults = one.filter(({ fault }) => fault !== null);
    expect(faults.map(({ folder: at, fault }) => [at, fault])).toEqual([
      [join(folder, "t7"), expect.stringMatching(/t7\/task\.toml:1: sandlot .*must be a table/)],
    ]);
    expect(one[0]).toMatchObject({ key: "sandlot/tidy-shell-files", family: "shell-files", level: expect.any(Number) });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
