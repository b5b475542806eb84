/**
 * What the control group driver writes on a v2 host, read from a folder tree that stands for one. Kill and freeze need the
 * kernel and are held by the conformance suite, wherever a v2 mount is.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findCompiler } from "../../build.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-groups-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function run(controllers: string): string {
  const tree = join(folder, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "cgroup.controllers"), controllers);
  writeFileSync(join(tree, "cgroup.subtree_control"), "");
  const mounts = join(folder, "mountinfo");
  writeFileSync(mounts, `30 20 0:26 / ${tree} rw,nosuid - cgroup2 cgroup2 rw\n`);
  const program = join(folder, "groups");
  const helper = join(import.meta.dirname, "..");
  const flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", `-DMOUNTINFO="${mounts}"`];
  const fake = join(folder, "fake.o");
  execFileSync(findCompiler([]), [...flags, "-c", "-o", fake, join(helper, "test/groups-fake.c")]);
  const driver = ["-Dmkdirat=fake_mkdirat", join(helper, "groups.c"), fake];
  execFileSync(findCompiler([]), [...flags, "-o", program, ...driver]);
  return execFileSync(program, { encoding: "utf8" });
}

const written = (name: string): string => readFileSync(join(folder, "tree", "sandlot-owner", name), "utf8");

test("a v2 host with every controller limits the commands' group, counts in it, and hands controllers down to each command", () => {
  expect(run("cpuset cpu io memory pids")).toBe(
    "memory=v2 pids=v2 cpu=v2 kill=v2 ids=root\nleaves kill, events counted, clones inside\n",
  );
  expect(readFileSync(join(folder, "tree/cgroup.subtree_control"), "utf8")).toBe("+memory\n+pids\n+cpu\n");
  expect(written("cgroup.subtree_control")).toBe("+memory\n+pids\n+cpu\n");
  expect(written("box/cgroup.subtree_control")).toBe("+memory\n+pids\n+cpu\n");
  expect(written("box/work/cgroup.subtree_control")).toBe("+memory\n");
  expect(written("box/work/memory.max")).toBe(`${(64 + 16 + 4) << 20}\n`);
  expect(written("box/work/memory.swap.max")).toBe("0\n");
  expect(written("box/work/pids.max")).toBe("64\n");
  expect(written("box/work/cpu.max")).toBe("50000 100000\n");
  for (const name of ["memory.max", "pids.max", "cpu.max"]) expect(written(`box/agent/${name}`)).toBe("");
});

test("a v2 host without controllers still has groups to kill by, and says that it limits nothing", () => {
  expect(run("hugetlb")).toBe(
    "memory=none pids=none cpu=none kill=v2 ids=root\nleaves kill, events unknown, clones inside\n",
  );
  expect(written("box/work/memory.max")).toBe("");
  expect(existsSync(join(folder, "tree/sandlot-owner/box/agent"))).toBe(true);
});
