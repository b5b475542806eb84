/**
 * Finds what sandboxes have on this machine: control groups, run folders, processes, each with the token of its owner.
 * The token alone tells whether the owner lives (boot, pid namespace, pid, start time); no state file is trusted.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { SUB_UID, SUB_UID_COUNT } from "./host-image.ts";

const TOKEN = /sandlot-([0-9a-f]{8})-(\d+)-(\d+)-(\d+)-[0-9a-f]{8}/;

export interface Leftover {
  readonly kind: "group" | "folder" | "process";
  /** A path, or a process id. */
  readonly name: string;
  readonly owner: string;
}

/** The owner token in a path or a line, or null. */
export function ownerIn(text: string): string | null {
  return TOKEN.exec(text)?.[0] ?? null;
}

/** `unknown` when the token is of another pid namespace, where this process cannot look. */
export function ownerState(owner: string): "live" | "dead" | "unknown" {
  const [, boot = "", space = "", pid = "", started = ""] = TOKEN.exec(owner) ?? [];
  if (!readText("/proc/sys/kernel/random/boot_id").startsWith(boot)) return "dead";
  if (`pid:[${space}]` !== readLink("/proc/self/ns/pid")) return "unknown";
  const fields = readText(`/proc/${pid}/stat`).split(")").pop()?.trim().split(" ") ?? [];
  const isRunning = fields[19] === started && fields[0] !== "Z";
  return isRunning ? "live" : "dead";
}

export function findLeftovers(runParent: string): Leftover[] {
  return [...groups(), ...folders(runParent), ...processes()];
}

function groups(): Leftover[] {
  return groupMounts().flatMap((mount) => named(mount).map((item): Leftover => ({ kind: "group", ...item })));
}

function folders(runParent: string): Leftover[] {
  return named(runParent).map((item): Leftover => ({ kind: "folder", ...item }));
}

function named(parent: string): { readonly name: string; readonly owner: string }[] {
  return entries(parent).flatMap((entry) => {
    const owner = ownerIn(entry);
    return owner === entry ? [{ name: join(parent, entry), owner }] : [];
  });
}

/** Mount points of all control group hierarchies, v1 and v2. */
export function groupMounts(): string[] {
  return readText("/proc/self/mountinfo")
    .split("\n")
    .filter((line) => / - cgroup2? /.test(line))
    .map((line) => line.split(" ")[4] ?? "");
}

/** Processes of a sandbox: a sub-uid of ours, in a control group with an owner's token. */
function processes(): Leftover[] {
  return entries("/proc").flatMap((entry): Leftover[] => {
    if (!/^\d+$/.test(entry)) return [];
    const uid = Number(/^Uid:\s+(\d+)/m.exec(readText(`/proc/${entry}/status`))?.[1] ?? -1);
    if (uid < SUB_UID || uid >= SUB_UID + SUB_UID_COUNT) return [];
    const owner = ownerIn(readText(`/proc/${entry}/cgroup`));
    return owner === null ? [] : [{ kind: "process", name: entry, owner }];
  });
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Empty when the file is gone: processes end while they are looked at. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
