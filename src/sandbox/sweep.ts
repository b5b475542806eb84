/** Removes what dead owners of sandboxes left: processes first, then control groups and run folders. */
import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "../core/runtime.ts";
import type { SweepReport } from "../core/sandbox.ts";
import { findLeftovers, type Leftover, ownerState } from "./leftovers.ts";

/** Killed processes leave the kernel within this many rounds of 10 ms, or their groups stay for the next sweep. */
const ROUNDS_MAX = 200;

/** Keeps everything whose owner lives or cannot be proved dead. */
export async function sweepLeftovers(runtime: Runtime, runParent: string): Promise<SweepReport> {
  const found = findLeftovers(runParent);
  const isDead = (item: Leftover): boolean => ownerState(item.owner) === "dead";
  const dead = found.filter(isDead);
  const kept = found.filter((item) => !isDead(item)).map((item) => item.name);
  const removed: string[] = [];
  const owners = new Set(dead.map((item) => item.owner));
  for (let round = 0; owners.size > 0 && round < ROUNDS_MAX; round += 1) {
    const running = findLeftovers(runParent).filter((item) => item.kind === "process" && owners.has(item.owner));
    for (const item of running) endProcess(Number(item.name));
    if (running.length === 0) break;
    await runtime.sleep(10);
  }
  for (const item of dead) {
    const isGone =
      item.kind === "group" ? removeGroup(item.name) : item.kind === "folder" ? removeFolder(item.name) : true;
    (isGone ? removed : kept).push(item.kind === "process" ? `process ${item.name}` : item.name);
  }
  return { removed, kept };
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}

/** False when something in it cannot be removed, such as a mount: one stuck leftover must stop no start. */
function removeFolder(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/** A control group's files vanish with it; only the groups below must go first. */
function removeGroup(path: string): boolean {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroup(join(path, entry.name));
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
