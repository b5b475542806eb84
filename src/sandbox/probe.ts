/**
 * What this machine offers to the namespace provider, line by line, for `sandlot doctor`: evidence, and the command that
 * would enable what is missing. The last line is a real sandbox that ran a real command; nothing proves more.
 */
import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { findCompiler } from "../../native/build.ts";
import { type Failure, toFailure } from "../core/errors.ts";
import type { ProbeLine, ProbeReport } from "../core/sandbox.ts";
import { imagesLine } from "./image/probe-images.ts";
import { capabilitiesOf } from "./namespace-limits.ts";
import { isolationLines } from "./probe-isolation.ts";
import { SUB_UID_COUNT, userIds, userName } from "./user-ids.ts";
import type { GroupSupport } from "./zygote.ts";

/** clone3 into a group, cgroup.kill and overlay with userxattr are all there from 5.14. */
const KERNEL_MIN: readonly [number, number] = [5, 14];
const PID_MAX_MIN = 32_768;
const FILES_MIN = 4_096;
const NAMESPACES_MIN = 1_024;
const WATCHERS_MIN = 1_024;

/** The proof at the end of a probe. */
export interface Trial {
  /** Tells which groups limit a sandbox; where none is missing, by having made one and run a command in it. Throws a Failure. */
  run(): Promise<GroupSupport>;
}

/** Asks the trial only when all that it needs is there. Never throws for what is missing. */
export async function probeNamespaces(trial: Trial): Promise<ProbeReport> {
  const lines = [kernel(), userNamespaces(), ids(), overlay(), compiler(), program("python3"), program("bash")];
  lines.push(pidMax(), openFiles(), namespaceLimits(), inotify());
  const isPossible = lines.every((line) => line.ok || !line.required);
  lines.push(...(isPossible ? await tryOne(trial) : [untried()]));
  lines.push(...isolationLines(lines.every((line) => line.ok || !line.required)));
  lines.push(imagesLine());
  return { provider: "namespace", ok: lines.every((line) => line.ok || !line.required), lines };
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function line(name: string, required: boolean, ok: boolean, evidence: string, remedy: string): ProbeLine {
  return { name, required, ok, evidence, remedy: ok ? null : remedy };
}

function kernel(): ProbeLine {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  const isLinux = process.platform === "linux";
  const ok = isLinux && (major > KERNEL_MIN[0] || (major === KERNEL_MIN[0] && minor >= KERNEL_MIN[1]));
  return line("kernel", true, ok, `${process.platform} ${release()}`, "Use Linux 5.14 or newer.");
}

/** Root needs no switch of these; an ordinary user is stopped by any of them. */
function userNamespaces(): ProbeLine {
  const max = Number(text("/proc/sys/user/max_user_namespaces") || 0);
  const isRoot = userIds().kind === "root";
  const switches = [
    { key: "kernel.unprivileged_userns_clone", refusing: "0", allowing: 1 },
    { key: "kernel.apparmor_restrict_unprivileged_userns", refusing: "1", allowing: 0 },
  ];
  const closed = isRoot
    ? []
    : switches.filter(({ key, refusing }) => text(`/proc/sys/${key.replace(".", "/")}`) === refusing);
  const evidence = [
    `user.max_user_namespaces = ${max}`,
    ...closed.map(({ key, refusing }) => `${key} = ${refusing}`),
  ].join(", ");
  const commands = [
    ...(max > 0 ? [] : ["sysctl -w user.max_user_namespaces=65536"]),
    ...closed.map(({ key, allowing }) => `sysctl -w ${key}=${allowing}`),
  ];
  return line("user namespaces", true, commands.length === 0, evidence, commands.join("; "));
}

/** Ids a sandbox may have; with a single one it works, and root is its only user. */
function ids(): ProbeLine {
  const { kind, base } = userIds();
  const uid = process.geteuid?.() ?? -1;
  const evidence = {
    root: `effective uid 0, sandboxes use ${base} to ${base + SUB_UID_COUNT - 1}`,
    range: `uid ${uid}, /etc/subuid grants ${base} to ${base + SUB_UID_COUNT - 1}`,
    self: `uid ${uid} and no range of ${SUB_UID_COUNT} ids with newuidmap: a sandbox has no user but root`,
  };
  const remedy =
    "apt-get install uidmap; usermod --add-subuids 200000-265535 --add-subgids 200000-265535 " +
    (userName(uid) || "NAME");
  return line("ids", false, kind !== "self", evidence[kind], remedy);
}

function overlay(): ProbeLine {
  const ok = /\boverlay\b/.test(text("/proc/filesystems"));
  return line("overlay", true, ok, ok ? "listed in /proc/filesystems" : "not in /proc/filesystems", "modprobe overlay");
}

function compiler(): ProbeLine {
  try {
    return line("compiler", true, true, findCompiler([]), "");
  } catch (error) {
    return line("compiler", true, false, toFailure(error).message, "apt-get install gcc libc6-dev");
  }
}

/** Sandboxes see the system's own /usr, so only that copy counts. */
function program(name: string): ProbeLine {
  const path = ["/usr/bin", "/bin"].map((folder) => `${folder}/${name}`).find((each) => existsSync(each));
  return line(name, true, path !== undefined, path ?? `no ${name} in /usr/bin`, `apt-get install ${name}`);
}

function pidMax(): ProbeLine {
  const max = Number(text("/proc/sys/kernel/pid_max") || 0);
  return line("pid_max", false, max >= PID_MAX_MIN, String(max), `sysctl -w kernel.pid_max=${4 * PID_MAX_MIN}`);
}

function openFiles(): ProbeLine {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(text("/proc/self/limits"))?.[1] ?? "0";
  const ok = hard === "unlimited" || Number(hard) >= FILES_MIN;
  return line("open files", false, ok, `hard limit ${hard}, one per sandbox`, `ulimit -Hn ${4 * FILES_MIN}`);
}

function namespaceLimits(): ProbeLine {
  const kinds = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];
  const found = kinds.map((kind) => ({ kind, max: Number(text(`/proc/sys/user/max_${kind}_namespaces`) || 0) }));
  const low = found.filter(({ max }) => max < NAMESPACES_MIN);
  const least = Math.min(...found.map(({ max }) => max));
  const evidence =
    low.length === 0 ? `at least ${least} of each kind` : low.map(({ kind, max }) => `${kind} ${max}`).join(", ");
  const remedy = low.map(({ kind }) => `sysctl -w user.max_${kind}_namespaces=65536`).join("; ");
  return line("namespaces", false, low.length === 0, evidence, remedy);
}

/** All sandboxes of one user share these; each may take at most 16. */
function inotify(): ProbeLine {
  const max = Number(text("/proc/sys/fs/inotify/max_user_instances") || 0);
  const remedy = "sysctl -w fs.inotify.max_user_instances=8192";
  return line("inotify", false, max >= WATCHERS_MIN, `${max} instances, shared by all sandboxes`, remedy);
}

function untried(): ProbeLine {
  return line(
    "sandbox",
    true,
    false,
    "not tried, because a line above is missing",
    "Enable what the lines above name.",
  );
}

function groupMode({ memory, pids, cpu, kill }: GroupSupport): string {
  const used = new Set([memory, pids, cpu, kill].filter((where) => where !== "none"));
  return used.size > 1 ? "hybrid" : ([...used][0] ?? "none");
}

async function tryOne(trial: Trial): Promise<ProbeLine[]> {
  try {
    const groups = await trial.run();
    return [limits(groups), line("sandbox", true, true, "one was made, ran a command and was destroyed", "")];
  } catch (error) {
    const failure: Failure = toFailure(error);
    const remedy = "Read the reason; inside a container, allow namespaces and mounts.";
    return [line("sandbox", true, false, failure.message, remedy)];
  }
}

/** A sandbox is made without them too: its memory is then watched, and its share of the processor is not held. */
function limits(groups: GroupSupport): ProbeLine {
  const { memory, pids, cpu, kill } = groups;
  const kept = capabilitiesOf({ groups, layers: null }).limits;
  const without =
    memory === "none" ? ` (memory ${kept.memoryBytes}, processes ${kept.processesMax}, cpus ${kept.cpus})` : "";
  const evidence = `cgroup ${groupMode(groups)}: memory ${memory}, pids ${pids}, cpu ${cpu}, kill ${kill}${without}`;
  const isWhole = [memory, pids, cpu, kill].every((where) => where !== "none");
  const remedy =
    userIds().kind === "root"
      ? "mount -t cgroup2 none /sys/fs/cgroup"
      : 'systemd-run --user --scope --property="Delegate=cpu memory pids" COMMAND';
  return line("limits", false, isWhole, evidence, remedy);
}
