/**
 * Case 65: whatever lies in the folders and control groups at start, sandboxes can be made, what dead owners left is
 * removed, and nothing of a live owner, of a stranger, or behind a link is touched.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { groupMounts } from "../../src/sandbox/leftovers.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { SUB_UID } from "../../src/sandbox/user-ids.ts";
import { runParent } from "../../src/sandbox/zygote.ts";
import { OPTIONS, REQUEST } from "../conformance/sandbox-parts.ts";
import { MISSING, testUnless } from "../support/unless.ts";
import { NEVER } from "./abuse-parts.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

let baseline: LeakBaseline;
let scratch: string;

vi.setConfig({ testTimeout: 30_000 });

beforeEach(async () => {
  baseline = await leakBaseline();
  scratch = mkdtempSync(join(tmpdir(), "sandlot-stale-"));
});

afterEach(async () => {
  rmSync(scratch, { recursive: true, force: true });
  await expectNoLeaks(baseline);
});

let made = 0;

/** The token of an owner of another boot: certainly dead. */
function deadToken(): string {
  made += 1;
  return `sandlot-00000000-1-1-1-${(process.pid * 1_000 + made).toString(16).padStart(8, "0").slice(-8)}`;
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

async function withProvider(use: (provider: ReturnType<typeof namespaceProvider>) => Promise<void>): Promise<void> {
  const provider = namespaceProvider({ runtime: systemRuntime() });
  try {
    await use(provider);
  } finally {
    await provider.close();
  }
}

test("65. half-made runs of every shape are swept at start, and links are not followed", async () => {
  const parent = runParent();
  const shapes = Array.from({ length: 6 }, () => join(parent, deadToken()));
  const [empty = "", nested = "", file = "", link = "", dangling = "", socket = ""] = shapes;
  writeFileSync(join(scratch, "precious"), "kept");
  mkdirSync(empty);
  mkdirSync(join(nested, "abc/work/deep"), { recursive: true });
  writeFileSync(join(nested, "abc/zygote.sock"), "no socket");
  symlinkSync(scratch, join(nested, "abc/out"));
  writeFileSync(file, "a file where a folder is expected");
  symlinkSync(scratch, link);
  symlinkSync(join(scratch, "nothing"), dangling);
  mkdirSync(socket);
  const server = createServer().listen(join(socket, "zygote.sock"));
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    await withProvider(async (provider) => {
      const sandbox = await provider.create(REQUEST, NEVER);
      expect((await sandbox.exec("echo made", OPTIONS)).exitCode).toBe(0);
      expect(shapes.filter(isThere)).toEqual([]);
      expect(readFileSync(join(scratch, "precious"), "utf8")).toBe("kept");
    });
  } finally {
    await new Promise((resolve) => server.close(resolve));
    for (const shape of shapes) rmSync(shape, { recursive: true, force: true });
  }
});

test("65b. names that are no owner's token, and tokens of live owners, stay", async () => {
  const parent = runParent();
  const stat = readFileSync("/proc/self/stat", "utf8").split(")").pop()?.trim().split(" ") ?? [];
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
  const space = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "";
  const alive = `sandlot-${boot}-${space}-${process.pid}-${stat[19]}-0badcafe`;
  const recycled = `sandlot-${boot}-${space}-${process.pid}-1-0badcafe`;
  const elsewhere = `sandlot-${boot}-1-${process.pid}-1-0badcafe`;
  const others = ["notes", "sandlot-mine", `x${deadToken()}`, `${deadToken()}.bak`];
  const kept = [alive, elsewhere, ...others].map((name) => join(parent, name));
  try {
    for (const path of [...kept, join(parent, recycled)]) mkdirSync(path);
    await withProvider(async (provider) => {
      await provider.create(REQUEST, NEVER);
      await provider.sweep();
      expect(
        kept.filter((path) => !isThere(path)),
        "removed though it must stay",
      ).toEqual([]);
      expect(isThere(join(parent, recycled)), "the owner's pid was given to another process").toBe(false);
    });
  } finally {
    for (const path of [...kept, join(parent, recycled)]) rmSync(path, { recursive: true, force: true });
  }
});

test("65c. processes and nested control groups of a dead owner are ended, those of strangers are not", async () => {
  const [mount = ""] = groupMounts().filter((path) => existsSync(join(path, "cgroup.procs")));
  const group = join(mount, deadToken());
  mkdirSync(join(group, "box/work"), { recursive: true });
  const orphan = spawn("sleep", ["983"], { uid: SUB_UID, stdio: "ignore" });
  const stranger = spawn("sleep", ["983"], { stdio: "ignore" });
  const orphanEnd = new Promise<NodeJS.Signals | null>((resolve) =>
    orphan.once("exit", (_code, signal) => resolve(signal)),
  );
  try {
    for (const child of [orphan, stranger]) writeFileSync(join(group, "box/work/cgroup.procs"), String(child.pid));
    await withProvider(async (provider) => {
      const report = await provider.sweep();
      expect(await orphanEnd).toBe("SIGKILL");
      /* A process that no sandbox of ours can have is spared, and so its group stays and is told. */
      expect(stranger.exitCode).toBeNull();
      expect(report.kept).toContain(group);
      await provider.create(REQUEST, NEVER);
      const gone = new Promise((resolve) => stranger.once("exit", resolve));
      stranger.kill("SIGKILL");
      await gone;
      await provider.sweep();
      expect(existsSync(group)).toBe(false);
    });
  } finally {
    orphan.kill("SIGKILL");
    stranger.kill("SIGKILL");
    for (const path of ["box/work", "box", "."].map((part) => join(group, part))) if (existsSync(path)) rmdirSync(path);
  }
});

testUnless(MISSING.root)("65d. what cannot be removed is told and stops neither the sweep nor a start", async () => {
  const [stuck, loose] = [join(runParent(), deadToken()), join(runParent(), deadToken())];
  mkdirSync(join(stuck, "busy"), { recursive: true });
  mkdirSync(loose);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "stale-test", join(stuck, "busy")]);
  try {
    await withProvider(async (provider) => {
      const sandbox = await provider.create(REQUEST, NEVER);
      expect((await sandbox.exec("true", OPTIONS)).exitCode).toBe(0);
      expect((await provider.sweep()).kept).toContain(stuck);
      expect(existsSync(loose)).toBe(false);
    });
  } finally {
    execFileSync("umount", [join(stuck, "busy")]);
    for (const path of [stuck, loose]) rmSync(path, { recursive: true, force: true });
  }
});
