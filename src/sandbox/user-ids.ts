/**
 * Which ids this process may give to a sandbox. Root gives a range of the machine's own; an ordinary user gives the range
 * `/etc/subuid` grants, through `newuidmap`, or else a single id: its own.
 */
import { accessSync, constants, readFileSync } from "node:fs";

/** Sandbox root as the zygote sees it, and how many ids a sandbox has; `SUB_UID` and `SUB_UID_COUNT` of the helper. */
export const SUB_UID = 100_000;
export const SUB_UID_COUNT = 65_536;

/** The ids of sandboxes on this machine. */
export interface UserIds {
  /** `self`: the sandbox's root is the user itself, and no other user exists in the sandbox. */
  readonly kind: "root" | "range" | "self";
  /** The machine's id of the sandbox's root. */
  readonly base: number;
}

const NO_USERS = "With one id only, root is the only user of a sandbox; a range of ids in /etc/subuid gives it others.";
/** Conformance cases that run commands as another user than root, which a sandbox of kind `self` does not have. */
export const UNKEPT_WITH_ONE_ID: Readonly<Record<number, string>> = Object.fromEntries(
  [11, 12, 20, 35, 40, 47, 48, 55, 69, 70, 74, 75, 77].map((number) => [number, NO_USERS]),
);

const MAPPERS = ["/usr/bin/newuidmap", "/usr/bin/newgidmap"];

/** `SANDLOT_IDS=self` makes do with one id where a range would be there. */
export function userIds(): UserIds {
  const uid = process.geteuid?.() ?? 0;
  if (uid === 0) return { kind: "root", base: SUB_UID };
  const [first, second] = ["/etc/subuid", "/etc/subgid"].map((path) => grantedRange(path, uid));
  const isGranted = typeof first === "number" && typeof second === "number" && MAPPERS.every(isExecutable);
  if (!isGranted || process.env["SANDLOT_IDS"] === "self") return { kind: "self", base: uid };
  return { kind: "range", base: first };
}

/** Start of the first range wide enough for a sandbox, or null. */
function grantedRange(path: string, uid: number): number | null {
  const names = [String(uid), userName(uid)];
  for (const line of text(path).split("\n")) {
    const [name = "", start, count] = line.split(":");
    if (name !== "" && names.includes(name) && Number(count) >= SUB_UID_COUNT) return Number(start);
  }
  return null;
}

/** The name `/etc/subuid` may use for a user; empty when the machine knows none. */
export function userName(uid: number): string {
  const lines = text("/etc/passwd").split("\n");
  return lines.map((line) => line.split(":")).find((fields) => fields[2] === String(uid))?.[0] ?? "";
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
