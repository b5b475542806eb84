/**
 * Finds what sandboxes have on this machine: control groups, run folders, processes, each with the token of its owner.
 * The token alone tells whether the owner lives (boot, pid namespace, pid, start time); no state file is trusted.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { SUB_UID_COUNT, userIds } from "./user-ids.ts";

const TOKEN = /sandlot-([0-9a-f]{8})-(\d+)-(\d+)-(\d+)-[0-9a-f]{8}/;

/** Stands for the owner of an agent whose zygote is gone. */
const ORPHAN = "orphan";

/** One thing with an owner's token. */
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
  if (owner === ORPHAN) return "dead";
  const [, boot = "", space = "", pid = "", started = ""] = TOKEN.exec(owner) ?? [];
  if (!readText("/proc/sys/kernel/random/boot_id").startsWith(boot)) return "dead";
  if (`pid:[${space}]` !== readLink("/proc/self/ns/pid")) return "unknown";
  const fields = readText(`/proc/${pid}/stat`).split(")").pop()?.trim().split(" ") ?? [];
  const isRunning = fields[19] === started && fields[0] !== "Z";
  return isRunning ? "live" : "dead";
}

/** Everything that carries an owner's token, of live owners too. */
export function findLeftovers(runParent: string): Leftover[] {
  return [...groups(), ...folders(runParent), ...processes()];
}

function groups(): Leftover[] {
  return [...groupMounts(), ...delegatedGroups()].flatMap((parent) =>
    named(parent).map((item): Leftover => ({ kind: "group", ...item })),
  );
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

/** Where the zygote of an ordinary user may have made its groups: the v2 group of this process and those above it. */
function delegatedGroups(): string[] {
  const mount = readText("/proc/self/mountinfo")
    .split("\n")
    .find((line) => / - cgroup2 /.test(line))
    ?.split(" ")[4];
  const own = /^0::\/(.+)$/m.exec(readText("/proc/self/cgroup"))?.[1]?.split("/") ?? [];
  return mount === undefined ? [] : own.map((_, index) => join(mount, ...own.slice(0, index + 1)));
}

/** Processes of a sandbox: of ids this user gives, in a control group with an owner's token, or left by their zygote. */
function processes(): Leftover[] {
  const { base, kind } = userIds();
  const count = kind === "self" ? 1 : SUB_UID_COUNT;
  return entries("/proc").flatMap((entry): Leftover[] => {
    if (!/^\d+$/.test(entry)) return [];
    const uid = Number(statusOf(entry, "Uid") || -1);
    if (uid < base || uid >= base + count) return [];
    const owner = ownerIn(readText(`/proc/${entry}/cgroup`)) ?? (isOrphan(entry) ? ORPHAN : null);
    return owner === null ? [] : [{ kind: "process", name: entry, owner }];
  });
}

/** An agent that no zygote waits for. Without groups nothing else tells whose it was, and its end ends its sandbox. */
function isOrphan(pid: string): boolean {
  if (statusOf(pid, "Name") !== "sandlot-agent" || statusOf(pid, "NSpid", 2) !== "1") return false;
  /* The parent of an agent in a container of an engine is that engine's, and none of ours. */
  const parent = statusOf(pid, "PPid");
  return parent === "1" || statusOf(parent, "Name") === "systemd";
}

function statusOf(pid: string, field: string, word = 1): string {
  const line = new RegExp(`^${field}:\\s+(.*)`, "m").exec(readText(`/proc/${pid}/status`))?.[1] ?? "";
  return line.split(/\s+/)[word - 1] ?? "";
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
