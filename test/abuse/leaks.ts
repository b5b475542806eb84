/**
 * The global leak check: everything of ours the kernel can show, before and after. Items of an owner that lives elsewhere
 * on this machine are left out; items of this process's own helpers, or of dead ones, must be gone.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { expect } from "vitest";
import { findLeftovers, ownerIn, ownerState } from "../../src/sandbox/leftovers.ts";
import { runParent } from "../../src/sandbox/zygote.ts";
import type { LeakCheck } from "../conformance/case.ts";

/** Names of what was there before, each with its kind. */
export type LeakBaseline = ReadonlySet<string>;

const WAIT_MS = 10_000;

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function status(pid: string, field: string): string {
  return new RegExp(`^${field}:\\s+(\\S+)`, "m").exec(text(`/proc/${pid}/status`))?.[1] ?? "";
}

/** Helper processes by name: a zygote of another live program is its own business. */
function helpers(): string[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry) && /^sandlot-/.test(status(entry, "Name")))
    .filter((entry) => status(entry, "State") !== "Z" && isOurs(entry))
    .map((entry) => `process ${entry} ${status(entry, "Name")}`);
}

/** A helper of this process, or one whose owner died. */
function isOurs(pid: string): boolean {
  const parent = status(pid, "PPid");
  if (status(pid, "Name") === "sandlot-agent") return isOurs(parent);
  if (parent === String(process.pid)) return true;
  try {
    return !readlinkSync(`/proc/${parent}/exe`).endsWith("/node");
  } catch {
    return true;
  }
}

/** Owner tokens carry the helper's pid: boot, pid namespace, pid, start time, random. */
function concernsUs(owner: string): boolean {
  if (ownerState(owner) === "dead") return true;
  const pid = owner.split("-")[3] ?? "";
  return isOurs(pid);
}

/** All there is now: processes, control groups, run folders, sockets, mounts of this process's own namespace. */
function present(): Set<string> {
  const found = new Set(helpers());
  for (const { kind, name, owner } of findLeftovers(runParent())) if (concernsUs(owner)) found.add(`${kind} ${name}`);
  for (const line of text("/proc/net/unix").split("\n")) {
    const owner = ownerIn(line);
    if (owner !== null && concernsUs(owner)) found.add(`socket ${line.split(" ").pop()}`);
  }
  for (const line of text("/proc/self/mountinfo").split("\n")) if (ownerIn(line) !== null) found.add(`mount ${line}`);
  return found;
}

export async function leakBaseline(): Promise<LeakBaseline> {
  return present();
}

/** Waits for the kernel's own delays, then fails naming what is left. `keep` spares what the caller still uses. */
export async function expectNoLeaks(
  baseline: LeakBaseline,
  keep: (item: string) => boolean = () => false,
): Promise<void> {
  const end = performance.now() + WAIT_MS;
  let left = leaked(baseline, keep);
  while (left.length > 0 && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    left = leaked(baseline, keep);
  }
  expect(left, "left behind").toEqual([]);
}

function leaked(baseline: LeakBaseline, keep: (item: string) => boolean): string[] {
  return [...present()].filter((item) => !baseline.has(item) && !keep(item));
}

/** The check between two cases of the namespace suite: the provider's helper, its group, folder and socket may stay. */
export const namespaceLeakCheck: LeakCheck = async (provider) => {
  const baseline = await leakBaseline();
  return async () => {
    expect(await provider.list(), "sandboxes left behind").toEqual([]);
    await expectNoLeaks(baseline, (item) => /^(process \d+ sandlot-zygote|folder|group|socket)/.test(item));
  };
};
