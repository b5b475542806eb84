/**
 * A container engine of the tests' own: Podman's service or Docker's daemon on a private Unix socket, with private storage
 * in a temporary folder. It ends with this process, whatever happens to it, and says why when it cannot start here.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRuntime } from "../../src/runtime/system.ts";
import type { EngineKind } from "../../src/sandbox/engine/engine-client.ts";
import { engineClient } from "../../src/sandbox/engine/engine-client.ts";

const START_MS = 60_000;
const STOP_MS = 60_000;

export interface EngineProcess {
  readonly kind: EngineKind;
  readonly socketPath: string;
  /** Null when it runs; else why this machine cannot have it. */
  readonly reason: string | null;
  /** Holds its socket and its storage. */
  readonly folder: string;
  /** Stops it and removes everything it made. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Reads its standard input to the end, then ends the engine and removes what it kept in the folder: neither outlives the
 * tests, however they end.
 */
const KEEPER = `
  folder=$1; shift
  exec >"$folder/log" 2>&1
  "$@" & pid=$!
  read -r _
  kill -TERM $pid
  wait $pid
  awk -v below="$folder/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
    while read -r mount; do umount -l "$mount"; done
  rm -rf "$folder"
`;

export async function startEngine(kind: EngineKind): Promise<EngineProcess> {
  const missing = whatIsMissing(kind);
  const folder = mkdtempSync(join(tmpdir(), `sandlot-${kind}-`));
  const socketPath = join(folder, "engine.sock");
  const groups = groupFolders();
  const child = missing === null ? start(kind, folder, socketPath) : null;
  const reason = missing ?? (await whyNotUp(kind, socketPath, child, folder));
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopped ??= stopEngine(kind, child, folder, groups));
  if (reason !== null) await stop();
  return { kind, socketPath, folder, reason, stop };
}

function whatIsMissing(kind: EngineKind): string | null {
  if (process.platform !== "linux" || process.geteuid?.() !== 0) return `${kind} is tried as root on Linux only`;
  const programs = kind === "podman" ? ["podman", "conmon", runtimeOf()] : ["dockerd", "containerd", runtimeOf()];
  const absent = programs.filter((program) => pathOf(program) === null);
  return absent.length === 0
    ? null
    : `this machine has no ${absent.join(" and no ")} (apt-get install ${kind === "podman" ? "podman runc" : "docker.io"})`;
}

function pathOf(program: string): string | null {
  const folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/libexec/podman"];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path)) ?? null;
}

/** crun refuses a hybrid of control groups whose v2 side holds a controller; runc takes every machine. */
function runtimeOf(): string {
  return pathOf("runc") === null && pathOf("crun") !== null ? "crun" : "runc";
}

function start(kind: EngineKind, folder: string, socketPath: string): ChildProcess {
  const { command, env } = kind === "podman" ? podmanCommand(folder, socketPath) : dockerCommand(folder, socketPath);
  return spawn("/bin/sh", ["-c", KEEPER, "sh", folder, ...command], {
    // What an engine's helpers leave where they stand, such as a note that memory ran out, goes with the folder.
    cwd: folder,
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin", ...env },
    detached: true,
  });
}

interface Command {
  readonly command: readonly string[];
  readonly env: Record<string, string>;
}

function podmanArguments(folder: string): string[] {
  return [
    "podman",
    ...["--root", join(folder, "root"), "--runroot", join(folder, "run"), "--tmpdir", join(folder, "tmp")],
    ...["--runtime", pathOf(runtimeOf()) ?? "runc", "--cgroup-manager", "cgroupfs", "--storage-driver", "overlay"],
  ];
}

/** Podman lowers its own limit of processes to about this before it starts a container. */
const PROCESSES_MAX = 16_384;

/** Without these lines it would raise limits beyond what it holds, which a machine without CAP_SYS_RESOURCE refuses. */
function podmanCommand(folder: string, socketPath: string): Command {
  const files = hardLimit("Max open files");
  const processes = Math.min(PROCESSES_MAX, hardLimit("Max processes"));
  writeFileSync(
    join(folder, "containers.conf"),
    [
      "[containers]",
      `default_ulimits = ["nofile=${files}:${files}", "nproc=${processes}:${processes}"]`,
      "[engine]",
      'events_logger = "file"',
      "no_pivot_root = true",
      "exit_command_delay = 1",
      "",
    ].join("\n"),
  );
  return {
    command: [...podmanArguments(folder), "system", "service", "--time=0", `unix://${socketPath}`],
    env: podmanVariables(folder),
  };
}

function hardLimit(name: string): number {
  const line = readText("/proc/self/limits")
    .split("\n")
    .find((each) => each.startsWith(name));
  return Number(/\s(\d+)\s+(\d+)\s/.exec(line ?? "")?.[2] ?? 4_096);
}

function podmanVariables(folder: string): Record<string, string> {
  return { CONTAINERS_CONF: join(folder, "containers.conf"), HOME: folder };
}

function dockerCommand(folder: string, socketPath: string): Command {
  const places = ["--data-root", join(folder, "root"), "--exec-root", join(folder, "run")];
  const noNetwork = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false"];
  return {
    command: [
      "dockerd",
      ...["--host", `unix://${socketPath}`, "--pidfile", join(folder, "pid"), "--log-level", "warn"],
      ...places,
      ...noNetwork,
    ],
    env: { HOME: folder },
  };
}

async function whyNotUp(
  kind: EngineKind,
  socketPath: string,
  child: ChildProcess | null,
  folder: string,
): Promise<string | null> {
  const end = performance.now() + START_MS;
  while (performance.now() < end && child?.exitCode === null) {
    try {
      await engineClient(systemRuntime(), socketPath).facts();
      return null;
    } catch {
      await pause(50);
    }
  }
  const log = readText(join(folder, "log")).trim().split("\n").slice(-3).join(" | ");
  return `${kind} does not start on this machine: ${log}`;
}

async function stopEngine(
  kind: EngineKind,
  child: ChildProcess | null,
  folder: string,
  groupsBefore: ReadonlySet<string>,
): Promise<void> {
  if (child !== null) {
    if (kind === "podman") tryRun([...podmanArguments(folder), "rm", "--all", "--force"], podmanVariables(folder));
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.stdin?.end();
    if (child.exitCode === null) await Promise.race([ended, pause(STOP_MS)]);
  }
  await removeFolder(folder);
  const groups = (): string[] => [...groupFolders()].filter((each) => !groupsBefore.has(each));
  /* Another engine may have begun to use the same parents; those stay. */
  for (let tries = 0; groups().length > 0 && tries < 40; tries += 1) {
    for (const group of groups()) removeGroup(group);
    await pause(50);
  }
}

/** A container's last helper may still be at its storage when the engine has ended. */
async function removeFolder(folder: string): Promise<void> {
  const end = performance.now() + STOP_MS;
  for (;;) {
    for (const mount of mountsBelow(folder).reverse()) tryRun(["umount", "-l", mount]);
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(50);
    }
  }
}

function tryRun(command: readonly string[], env: Record<string, string> = {}): void {
  const [program = "", ...rest] = command;
  try {
    execFileSync(program, rest, {
      stdio: "ignore",
      timeout: STOP_MS,
      env: { PATH: process.env["PATH"] ?? "", ...env },
    });
  } catch {}
}

/** The parents under which engines put their containers' groups, in every hierarchy. */
function groupFolders(): ReadonlySet<string> {
  const root = "/sys/fs/cgroup";
  const hierarchies = existsSync(root)
    ? readdirSync(root, { withFileTypes: true }).filter((each) => each.isDirectory())
    : [];
  const parents = [root, ...hierarchies.map(({ name }) => join(root, name))];
  const found = parents.flatMap((parent) => ["libpod_parent", "docker"].map((name) => join(parent, name)));
  return new Set(found.filter((path) => existsSync(path)));
}

function removeGroup(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroup(join(path, entry.name));
    rmdirSync(path);
  } catch {}
}

/** Mount points below the folder, as this process sees them. */
export function mountsBelow(folder: string): string[] {
  return readText("/proc/self/mountinfo")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith(`${folder}/`));
}

/** Empty when the file is gone. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
