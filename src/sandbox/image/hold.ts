/**
 * Which images live processes hold: a folder per process, named by its owner token, with an empty file per image. What a
 * dead process held counts no more, and its folder is removed when somebody looks.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "../../core/runtime.ts";
import { ownerIn, ownerState } from "../leftovers.ts";

/** This process's token, as the helper makes its own: boot, pid namespace, pid, start time, randomness. */
export function processToken(runtime: Runtime): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
  const space = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  const started = readFileSync("/proc/self/stat", "utf8").split(")").pop()?.trim().split(" ")[19] ?? "0";
  return `sandlot-${boot}-${space}-${process.pid}-${started}-${Buffer.from(runtime.randomBytes(4)).toString("hex")}`;
}

/** Whether the owner of a name with a token in it is provably dead. */
export function isOfDeadOwner(name: string): boolean {
  const owner = ownerIn(name);
  return owner !== null && ownerState(owner) === "dead";
}

export function hold(folder: string, token: string, hash: string): void {
  mkdirSync(join(folder, token), { recursive: true });
  writeFileSync(join(folder, token, hash), "");
}

export function letGo(folder: string, token: string): void {
  rmSync(join(folder, token), { recursive: true, force: true });
}

/** How many live processes hold each image. A process that cannot be judged counts as live. */
export function heldImages(folder: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const token of names(folder)) {
    if (isOfDeadOwner(token)) {
      letGo(folder, token);
      continue;
    }
    for (const hash of names(join(folder, token))) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  return counts;
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
