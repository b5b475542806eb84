/**
 * Everything of ours the kernel can show, as a set of names: processes, control groups down to each sandbox, run folders,
 * sockets, mounts here and in the helper, network namespaces, loop devices, and on demand descriptors and the processes
 * of an engine. Items of an owner that lives elsewhere on this machine are left out, and so are the few blanks a live
 * helper keeps and drops by itself. What has no name of its own is numbered by kind, so that one more than before is one
 * name more.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { findLeftovers, ownerIn, ownerState } from "../../src/sandbox/leftovers.ts";
import { runParent } from "../../src/sandbox/zygote.ts";

export interface LeakScope {
  /** Also the open descriptors of this process, by kind. */
  readonly descriptors?: boolean;
  /** Also processes of these names, whoever started them, such as `conmon`. */
  readonly programs?: readonly string[];
}

interface Process {
  readonly pid: string;
  readonly name: string;
  readonly parent: string;
}

/** Programs that hold a container's first process though nobody of ours is above them. */
const ENGINES = /^(conmon|containerd-shim|crun|runc|podman|dockerd)/;

export function scanLeaks(scope: LeakScope = {}): Set<string> {
  const everything = liveProcesses();
  const blanks = keptBlanks(everything);
  const processes = new Map([...everything].filter(([pid]) => !blanks.has(pid)));
  const isOurs = ours(processes);
  const concernsUs = (owner: string): boolean => ownerState(owner) === "dead" || isOurs(owner.split("-")[3] ?? "");
  const helpers = [...processes.values()].filter(({ pid, name }) => name.startsWith("sandlot-") && isOurs(pid));
  const zygotes = helpers.filter(({ name }) => name === "sandlot-zygote");
  return new Set([
    ...helpers.map(({ pid, name }) => `process ${pid} ${name}`),
    ...ownedItems(concernsUs, blanks),
    ...sockets(concernsUs),
    ...mounts(),
    ...loopDevices(concernsUs),
    ...networkNamespaces(processes, isOurs),
    ...zygotes.flatMap(({ pid }) => numbered(`mount of helper ${pid}`, mountPoints(pid))),
    ...zygotes.flatMap(({ pid }) =>
      numbered(`descriptor of helper ${pid}`, withoutBlanks(descriptors(pid), pid, blanks)),
    ),
    ...(scope.descriptors === true ? numbered("descriptor", descriptors("self")) : []),
    ...[...processes.values()]
      .filter(({ name }) => scope.programs?.includes(name))
      .map(({ pid, name }) => `process ${pid} ${name}`),
  ]);
}

/** By process id, with the helper above. A live helper has no more than one per core, or this counts none as kept. */
function keptBlanks(processes: ReadonlyMap<string, Process>): Map<string, string> {
  const found = [...processes.values()].filter(
    ({ name, parent }) => name === "sandlot-blank" && processes.get(parent)?.name === "sandlot-zygote",
  );
  const counts = Map.groupBy(found, ({ parent }) => parent);
  const kept = found.filter(({ parent }) => (counts.get(parent)?.length ?? 0) <= availableParallelism());
  return new Map(kept.map(({ pid, parent }) => [pid, parent]));
}

/** A helper holds one socket to each of its blanks. */
function withoutBlanks(found: readonly string[], pid: string, blanks: ReadonlyMap<string, string>): string[] {
  let spared = [...blanks.values()].filter((helper) => helper === pid).length;
  return found.filter((name) => name !== "socket" || spared-- <= 0);
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function liveProcesses(): Map<string, Process> {
  const found = new Map<string, Process>();
  for (const pid of entries("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const [, name = "", state = "", parent = ""] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(text(`/proc/${pid}/stat`)) ?? [];
    if (name !== "" && state !== "Z") found.set(pid, { pid, name, parent });
  }
  return found;
}

/** Below this process, or a helper whose owner died. A helper of another live program is its own business. */
function ours(processes: ReadonlyMap<string, Process>): (pid: string) => boolean {
  return (pid) => {
    let at = pid;
    for (let depth = 0; depth < 64; depth += 1) {
      if (at === String(process.pid)) return true;
      const { name = "", parent = "0" } = processes.get(at) ?? {};
      if (ENGINES.test(name) || link(`/proc/${at}/exe`).endsWith("/node")) return false;
      if (parent === "0" || parent === "1") return name.startsWith("sandlot-");
      at = parent;
    }
    return false;
  };
}

/** Groups, folders and sub-uid processes with an owner token; of a live owner each sandbox's group by itself. */
function ownedItems(concernsUs: (owner: string) => boolean, blanks: ReadonlyMap<string, string>): string[] {
  /* A blank's groups keep their name when it has become somebody's, so the name alone says nothing. */
  const names = new Set(
    [...blanks.keys()].flatMap((pid) => text(`/proc/${pid}/cgroup`).match(/\/blank\d+(?=\/)/g) ?? []),
  );
  return findLeftovers(runParent())
    .filter(({ owner, kind, name }) => concernsUs(owner) && !(kind === "process" && blanks.has(name)))
    .flatMap(({ kind, name }) => {
      const below = kind === "group" ? foldersBelow(name) : [];
      const inner = below.filter((path) => !names.has(path.slice(path.lastIndexOf("/"))));
      return [`${kind} ${name}`, ...inner.map((path) => `group ${path}`)];
    });
}

function foldersBelow(folder: string): string[] {
  try {
    const found = readdirSync(folder, { withFileTypes: true });
    return found.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
  } catch {
    return [];
  }
}

function sockets(concernsUs: (owner: string) => boolean): string[] {
  return text("/proc/net/unix")
    .split("\n")
    .flatMap((line) => {
      const owner = ownerIn(line);
      return owner !== null && concernsUs(owner) ? [`socket ${line.split(" ").pop()}`] : [];
    });
}

/** Nothing of ours may ever show in the host's mount table, whoever owns it. */
function mounts(): string[] {
  return text("/proc/self/mountinfo")
    .split("\n")
    .filter((line) => ownerIn(line) !== null)
    .map((line) => `mount ${line}`);
}

function mountPoints(pid: string): string[] {
  return text(`/proc/${pid}/mountinfo`)
    .split("\n")
    .flatMap((line) => line.split(" ")[4] ?? []);
}

function loopDevices(concernsUs: (owner: string) => boolean): string[] {
  return entries("/sys/block").flatMap((name) => {
    const file = name.startsWith("loop") ? text(`/sys/block/${name}/loop/backing_file`).trim() : "";
    const owner = ownerIn(file);
    return owner !== null && concernsUs(owner) ? [`loop device ${name} on ${file}`] : [];
  });
}

/** Network namespaces in use by processes of ours, our own left out. */
function networkNamespaces(processes: ReadonlyMap<string, Process>, isOurs: (pid: string) => boolean): string[] {
  const own = link("/proc/self/ns/net");
  const found = new Set<string>();
  for (const pid of processes.keys()) {
    const space = link(`/proc/${pid}/ns/net`);
    if (space !== "" && space !== own && !found.has(space) && isOurs(pid)) found.add(space);
  }
  return [...found].map((space) => `network namespace ${space}`);
}

/** What each open descriptor is: `socket`, `pipe`, `/dev/fuse`, `net`, … without the number that tells two apart. */
function descriptors(pid: string): string[] {
  return entries(`/proc/${pid}/fd`)
    .map((fd) => link(`/proc/${pid}/fd/${fd}`))
    .filter((target) => target !== "" && !/^\/proc\/\d+\/fd$/.test(target))
    .map((target) => target.replace(/:\[\d+\]$/, "").replace(/\d+/g, "N"));
}

/** `KIND NAME #1`, `KIND NAME #2`, …: as many as there are of each name. */
function numbered(kind: string, names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return names.map((name) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return `${kind} ${name} #${count}`;
  });
}
