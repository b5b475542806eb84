/**
 * The token by which everything of this process's sandboxes can be told, in the same form as the helper's: boot, pid
 * namespace, pid and start time say whether the owner still lives, whatever happened to it.
 */
import { readFileSync, readlinkSync } from "node:fs";
import type { Runtime } from "../../core/runtime.ts";

/** Field 22 of /proc/self/stat; the second field may hold anything, so fields are counted after it. */
const START_TIME_AFTER_NAME = 19;

/** Throws where there is no /proc; the provider then offers nothing on this machine. */
export function ownerToken(runtime: Runtime): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
  const space = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  const fields = readFileSync("/proc/self/stat", "utf8").split(")").pop()?.trim().split(" ") ?? [];
  const random = Buffer.from(runtime.randomBytes(4)).toString("hex");
  return `sandlot-${boot}-${space}-${process.pid}-${fields[START_TIME_AFTER_NAME] ?? "0"}-${random}`;
}
