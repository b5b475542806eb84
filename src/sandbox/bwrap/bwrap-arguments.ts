/**
 * A sandbox request as the options of one bwrap: its namespaces, its root, its views of the kernel, its capabilities. The
 * numbers of descriptors are those in which `startMachine` hands them over.
 */
import { existsSync } from "node:fs";
import type { SandboxLimits } from "../../core/sandbox.ts";
import { BOOT, PYTHON } from "./agent-bundle.ts";
import type { HostRoot } from "./host-root.ts";

/** Descriptors of bwrap after the agent's bundle. */
export const STATUS_FD = 4;
export const MEMINFO_FD = 5;
export const CPUINFO_FD = 6;
/** Each the list of the sandbox's processors; bwrap reads a descriptor once. */
export const CORES_FDS = [7, 8, 9] as const;
export const USER_NAMESPACE_FD = 10;

/** What libc, lscpu and runtimes read before they ask the scheduler. */
const CORES_FILES = ["online", "possible", "present"];
const CPU = "/sys/devices/system/cpu";
const SYS_BYTES = 65_536;

const KEPT_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID", "KILL", "NET_BIND_SERVICE"];

/** Each could tell of, or reach, the host. */
const MASKED = ["kcore", "keys", "key-users", "timer_list", "sched_debug", "kmsg"];

export interface BwrapPlan {
  readonly limits: SandboxLimits;
  readonly cores: number;
  readonly root: HostRoot;
  /** With a range of ids the namespace is made before; else bwrap makes one with a single id. */
  readonly hasNamespace: boolean;
}

export function bwrapArguments({ limits, cores, root, hasNamespace }: BwrapPlan): string[] {
  const masked = MASKED.map((name) => `/proc/${name}`).filter((path) => existsSync(path));
  return [
    ...(hasNamespace ? ["--userns", String(USER_NAMESPACE_FD)] : ["--unshare-user"]),
    ...["--uid", "0", "--gid", "0"],
    ...["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"],
    ...["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", "sandbox"],
    ...["--json-status-fd", String(STATUS_FD)],
    ...["--cap-drop", "ALL"],
    ...KEPT_CAPABILITIES.flatMap((name) => ["--cap-add", `CAP_${name}`]),
    ...["--perms", "0755", "--size", String(limits.diskBytes), "--tmpfs", "/"],
    ...root.systemFolders,
    ...["--proc", "/proc"],
    ...masked.flatMap((path) => ["--dev-bind", "/dev/null", path]),
    ...["--ro-bind-data", String(MEMINFO_FD), "/proc/meminfo", "--ro-bind-data", String(CPUINFO_FD), "/proc/cpuinfo"],
    ...["--perms", "0755", "--size", String(SYS_BYTES), "--tmpfs", "/sys"],
    ...CORES_FILES.flatMap((name, at) => ["--perms", "0444", "--file", String(CORES_FDS[at]), `${CPU}/${name}`]),
    ...Array.from({ length: cores }, (_, core) => ["--dir", `${CPU}/cpu${core}`]).flat(),
    ...["--remount-ro", "/sys"],
    ...["--dev", "/dev", "--perms", "1777", "--size", String(limits.shmBytes), "--tmpfs", "/dev/shm"],
    ...["--remount-ro", "/dev", "--chdir", "/"],
    ...["--", PYTHON, "-I", "-S", "-c", BOOT],
  ];
}
