/** The owner dies without a word, or its helper does: nothing of the sandboxes stays, and nothing of others is touched. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { groupMounts } from "../../src/sandbox/leftovers.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { runParent } from "../../src/sandbox/zygote.ts";
import { OPTIONS, REQUEST } from "../conformance/sandbox-parts.ts";
import { NEVER } from "./abuse-parts.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

let baseline: LeakBaseline;
let owner: ChildProcess | null = null;

beforeEach(async () => {
  baseline = await leakBaseline();
});

afterEach(async () => {
  owner?.kill("SIGKILL");
  await expectNoLeaks(baseline);
});

/** Starts a program with three busy sandboxes; resolves with its helper's pid. */
async function startOwner(): Promise<{ readonly helper: number; readonly exited: Promise<void> }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./owner-program.ts", import.meta.url))], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  owner = child;
  const exited = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  const line = await new Promise<string>((resolve) =>
    child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString())),
  );
  return { helper: Number(line.split(" ")[0]), exited };
}

test("16. kill -9 of the owner leaves no process, mount, group, socket or folder", async () => {
  const { exited } = await startOwner();
  owner?.kill("SIGKILL");
  await exited;
  await expectNoLeaks(baseline);
});

test("16b. an interrupt at the owner's terminal does not end the helper before the owner has said so", async () => {
  const { helper, exited } = await startOwner();
  process.kill(helper, "SIGINT");
  process.kill(helper, "SIGHUP");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(() => process.kill(helper, 0)).not.toThrow();
  owner?.kill("SIGKILL");
  await exited;
});

test("65. what a killed helper leaves is swept, and a live owner's sandboxes are not touched", async () => {
  const provider = namespaceProvider({ runtime: systemRuntime() });
  try {
    const sandbox = await provider.create(REQUEST, NEVER);
    const withOurs = await leakBaseline();
    const { helper, exited } = await startOwner();
    process.kill(helper, "SIGKILL");
    owner?.kill("SIGKILL");
    await exited;
    const stale = `sandlot-00000000-1-1-1-00000000`;
    const folders = [runParent(), ...groupMounts().slice(0, 2)].map((parent) => join(parent, stale, "abc"));
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    await provider.sweep();
    // Another owner on this machine may have swept before us; what counts is that nothing of the dead is left.
    expect(folders.filter((folder) => existsSync(join(folder, "..")))).toEqual([]);
    await expectNoLeaks(withOurs);
    expect((await sandbox.exec("echo alive", OPTIONS)).exitCode).toBe(0);
  } finally {
    await provider.close();
  }
});

test("a sandbox whose helper was killed is lost, and the next create starts a new helper", async () => {
  const provider = namespaceProvider({ runtime: systemRuntime() });
  try {
    const sandbox = await provider.create(REQUEST, NEVER);
    const running = sandbox.exec("sleep 987", OPTIONS).catch((error: unknown) => error);
    const helper = await helperOf(process.pid);
    process.kill(helper, "SIGKILL");
    expect(await running).toMatchObject({ code: "sandbox_lost" });
    const next = await provider.create(REQUEST, NEVER);
    expect((await next.exec("true", OPTIONS)).exitCode).toBe(0);
  } finally {
    await provider.close();
    await provider.sweep();
  }
});

async function helperOf(parent: number): Promise<number> {
  const { readFileSync, readdirSync } = await import("node:fs");
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    let status = "";
    try {
      status = readFileSync(`/proc/${entry}/status`, "utf8");
    } catch {}
    if (status.includes("sandlot-zygote") && status.includes(`PPid:\t${parent}\n`)) return Number(entry);
  }
  throw new Error("This process has no helper.");
}
