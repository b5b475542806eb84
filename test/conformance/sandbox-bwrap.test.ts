/** Sandboxes of bubblewrap pass the suite with the agent written in Python, and leave no process or descriptor behind. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { bwrapProvider } from "../../src/sandbox/provider-bwrap.ts";
import { testUnless } from "../support/unless.ts";
import type { LeakCheck } from "./case.ts";
import { sandboxConformance } from "./sandbox.ts";

const WAIT_MS = 10_000;

sandboxConformance(() => bwrapProvider({ runtime: systemRuntime() }), { skip: reasonToSkip(), leakCheck });

testUnless(reasonToSkip())("a sandbox ends with the process that owned it, though that was killed", async () => {
  const source = (path: string): string => JSON.stringify(pathToFileURL(join(import.meta.dirname, "../..", path)).href);
  const mark = `987${process.pid}`;
  const script = [
    `import { bwrapProvider } from ${source("src/sandbox/provider-bwrap.ts")};`,
    `import { systemRuntime } from ${source("src/runtime/system.ts")};`,
    `import { OPTIONS, REQUEST } from ${source("test/conformance/sandbox-parts.ts")};`,
    "const provider = bwrapProvider({ runtime: systemRuntime() });",
    "const sandbox = await provider.create(REQUEST, new AbortController().signal);",
    `await sandbox.exec("trap '' TERM HUP; setsid sleep ${mark} & echo", OPTIONS);`,
    'console.log("ready");',
    "setInterval(() => undefined, 1_000);",
  ].join("\n");
  const owner = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await once(owner.stdout, "data");
    // What was put in the background has yet to become the program it starts.
    await settled(() => holding(mark).length > 0);
    expect(holding(mark)).not.toEqual([]);
  } finally {
    // One that outlived its test would keep the whole suite from ending.
    owner.kill("SIGKILL");
  }
  await settled(() => holding(mark).length === 0);
  expect(holding(mark)).toEqual([]);
});

/** Processes with this word among theirs. */
function holding(word: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(word);
    } catch {
      return false;
    }
  });
}

function reasonToSkip(): string | null {
  const { status } = spawnSync("bwrap", ["--version"], { stdio: "ignore" });
  return status === 0 ? null : "This machine has no bwrap: apt-get install bubblewrap.";
}

/** Children of this process and what it holds open; a first sandbox brings up what a provider keeps between two. */
async function leakCheck(...[provider, request]: Parameters<LeakCheck>): Promise<() => Promise<void>> {
  for (let round = 0; round < 2; round += 1)
    await (await provider.create(request, new AbortController().signal)).destroy();
  await settled(() => children().length === 0);
  const before = descriptors();
  return async () => {
    expect(await provider.list(), "sandboxes left behind").toEqual([]);
    await settled(() => children().length === 0 && descriptors() <= before);
    expect(children(), "processes left behind").toEqual([]);
    expect(descriptors(), "descriptors left open").toBeLessThanOrEqual(before);
  };
}

async function settled(isSo: () => boolean): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!isSo() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
}

function children(): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const [name, rest] = readFileSync(`/proc/${pid}/stat`, "utf8")
        .split(/\((.*)\) /s)
        .slice(1);
      return /^\d+$/.test(pid) && Number(rest?.split(" ")[1]) === process.pid ? [`${pid} ${name}`] : [];
    } catch {
      return [];
    }
  });
}

/** Nameless files are what the provider shows of each shape of a machine; it keeps a bounded number of them. */
function descriptors(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return !readlinkSync(`/proc/self/fd/${fd}`).endsWith(" (deleted)");
    } catch {
      return false;
    }
  }).length;
}
