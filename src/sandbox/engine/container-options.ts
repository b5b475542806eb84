/**
 * A sandbox request as the options of one container: everything the engine is asked to keep, and the labels by which a
 * later process finds the container again.
 */
import { hostname } from "node:os";
import type Docker from "dockerode";
import type { SandboxInfo, SandboxRequest } from "../../core/sandbox.ts";
import type { EngineImage } from "./engine-image.ts";
import { LABEL } from "./labels.ts";

/** Where the agent lies in every container, mounted read-only. */
const AGENT_PATH = "/.sandlot-agent";

/** The eight of the helper's confinement: enough for a package manager and for dropping to another user. */
export const KEPT_CAPABILITIES = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "SETUID",
  "SETGID",
  "KILL",
  "NET_BIND_SERVICE",
] as const;

/** A process of the agent itself; the request's limit is about the others. */
const AGENT_PROCESSES = 1;
const PAGE_BYTES = 4_096;
const CPU_PERIOD_US = 100_000;
const CPU_QUOTA_US_MIN = 1_000;

/** All that one container is made from. */
export interface ContainerPlan {
  readonly request: SandboxRequest;
  readonly info: SandboxInfo;
  readonly image: EngineImage;
  readonly agentProgram: string;
  readonly owner: string;
  readonly expiresAt: number;
  /** Registered runtime of the engine; absent: its default. */
  readonly runtimeName: string | null;
  /** Whether the engine's storage takes a size for a container's layer. */
  readonly hasDiskQuota: boolean;
}

/** For the engine's create call. Nothing of the request is left out that the engine can keep. */
export function containerOptions(plan: ContainerPlan): Docker.ContainerCreateOptions {
  const { info, image, request } = plan;
  return {
    Image: image.id,
    Hostname: "sandbox",
    Entrypoint: [AGENT_PATH],
    Cmd: ["agent", `processes=${info.limits.processesMax}`, `seccomp=${request.seccomp ?? "default"}`],
    Env: [],
    User: "0:0",
    WorkingDir: "/",
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    Labels: labelsOf(plan),
    HostConfig: hostConfig(plan),
  };
}

function labelsOf({ request, info, owner, expiresAt }: ContainerPlan): Record<string, string> {
  return {
    [LABEL.owner]: owner,
    [LABEL.machine]: hostname(),
    [LABEL.id]: info.id,
    [LABEL.attemptId]: request.attemptId,
    [LABEL.role]: request.role,
    [LABEL.fence]: String(request.fence),
    [LABEL.expiresAt]: String(expiresAt),
    [LABEL.info]: JSON.stringify(info),
  };
}

function hostConfig({ info, image, agentProgram, runtimeName, hasDiskQuota }: ContainerPlan): Docker.HostConfig {
  const { limits } = info;
  /* Pages of /dev/shm are charged to the container, so its memory covers both. */
  const memoryBytes = limits.memoryBytes + limits.shmBytes;
  return {
    /* The agent ends when its channel does, so a container outlives neither its sandbox nor its owner. */
    AutoRemove: true,
    NetworkMode: "none",
    CapDrop: ["ALL"],
    CapAdd: [...KEPT_CAPABILITIES],
    SecurityOpt: ["no-new-privileges"],
    Privileged: false,
    PidsLimit: limits.processesMax + AGENT_PROCESSES,
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
    CpuPeriod: CPU_PERIOD_US,
    CpuQuota: Math.max(CPU_QUOTA_US_MIN, Math.round(limits.cpus * CPU_PERIOD_US)),
    ShmSize: limits.shmBytes,
    IpcMode: "private",
    /* Shared memory of the System V kind has no file system with a size; this is its limit, in pages. */
    Sysctls: { "kernel.shmall": String(Math.floor(limits.shmBytes / PAGE_BYTES)) },
    Init: false,
    /* Every frame would be written to a log file otherwise. */
    LogConfig: { Type: "none", Config: {} },
    Mounts: [{ Type: "bind", Source: agentProgram, Target: AGENT_PATH, ReadOnly: true }, ...image.mounts],
    ...(runtimeName === null ? {} : { Runtime: runtimeName }),
    ...(hasDiskQuota ? { StorageOpt: { size: String(limits.diskBytes) } } : {}),
  };
}
