/**
 * The default provider: sandboxes of Linux namespaces, overlay and control groups, made by the native helper. Isolation
 * is shared-kernel and says so. Needs Linux and root; `probe()` tells what is missing and how to get it.
 */
import type { Socket } from "node:net";
import { basename, dirname } from "node:path";
import { buildNative } from "../../native/build.ts";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type {
  Isolation,
  LimitSupport,
  Sandbox,
  SandboxCapabilities,
  SandboxInfo,
  SandboxProvider,
  SandboxRequest,
} from "../core/sandbox.ts";
import { AgentClient } from "./agent-client.ts";
import { agentSandbox } from "./agent-sandbox.ts";
import { encodeFrame, FRAME } from "./frames.ts";
import { buildHostImage, type HostImage } from "./host-image.ts";
import { probeNamespaces } from "./probe.ts";
import { hostRules } from "./proxy/host-rules.ts";
import { networkControl } from "./proxy/network-control.ts";
import { checkRoutes, type ProxyOptions } from "./proxy/proxy.ts";
import { startCommand } from "./run-command.ts";
import { sweepLeftovers } from "./sweep.ts";
import { runParent, startZygote, type Zygote } from "./zygote.ts";

const STRENGTH: readonly Isolation[] = ["process", "namespace", "gvisor", "vm"];
/** A machine under load answers late, not never. */
const CREATE_MS_MAX = 30_000;

export interface NamespaceProviderOptions {
  readonly runtime: Runtime;
  /** Where built images lie; default in the user's cache. */
  readonly imageFolder?: string;
  /** Routes, caps and name resolution of the sandboxes' networks. */
  readonly proxy?: ProxyOptions;
}

interface Engine {
  readonly zygote: Zygote;
  readonly image: HostImage;
}

export function namespaceProvider(options: NamespaceProviderOptions): SandboxProvider {
  const { runtime } = options;
  checkRoutes(options.proxy?.routes ?? []);
  const live = new Map<string, Sandbox>();
  let engine: Promise<Engine> | null = null;
  let capabilities = capabilitiesOf("enforced", "enforced", "enforced", "cgroup");
  let isClosed = false;

  const ensureEngine = async (): Promise<Engine> => {
    if (isClosed) throw new Failure("sandbox_unavailable", "The sandbox provider was closed.");
    const seen = engine;
    const running = await seen?.catch(() => null);
    if (running?.zygote.isAlive()) return running;
    /* Of several creations that find the helper dead, one starts the next. */
    if (engine === seen || engine === null) engine = startEngine();
    return engine;
  };
  const startEngine = async (): Promise<Engine> => {
    try {
      requireLinux();
      const { path } = await buildNative("helper");
      const image = buildHostImage(runtime, options.imageFolder, path);
      await sweepLeftovers(runtime, runParent());
      const zygote = await startZygote(path, { store: dirname(image.folder) });
      const { memory, pids, cpu, kill } = zygote.groups;
      capabilities = capabilitiesOf(
        support(memory),
        support(pids),
        support(cpu),
        kill === "none" ? "pid-namespace" : "cgroup",
      );
      return { zygote, image };
    } catch (error) {
      engine = null;
      throw error;
    }
  };

  /** A helper that died since is replaced once. */
  const connectToEngine = async (): Promise<Engine & { readonly socket: Socket }> => {
    const first = await ensureEngine();
    try {
      return { ...first, socket: await first.zygote.connect() };
    } catch {
      const second = await ensureEngine();
      return { ...second, socket: await second.zygote.connect() };
    }
  };

  return {
    name: "namespace",
    get capabilities() {
      return capabilities;
    },
    probe: () => probeNamespaces({ run: () => tryOneSandbox(options) }),
    create: async (request, signal) => {
      refuse(request);
      refuseCancelled(signal);
      const { zygote, image, socket } = await connectToEngine();
      const id = runtime.id().toLowerCase();
      const info: SandboxInfo = {
        id,
        provider: "namespace",
        isolation: "namespace",
        image: request.image,
        imageHash: image.hash,
        limits: request.limits,
        network: request.network.mode,
        labels: { ...request.labels, attemptId: request.attemptId, role: request.role, fence: String(request.fence) },
      };
      const sandbox = await createSandbox(options, { zygote, socket, image }, request, info, signal);
      live.set(id, sandbox.sandbox);
      void sandbox.gone.then(() => live.delete(id));
      return sandbox.sandbox;
    },
    list: async (labels = {}) =>
      [...live.values()].map((sandbox) => sandbox.info).filter((info) => carries(info.labels, labels)),
    destroy: (id) => destroyOne(live.get(id)),
    sweep: () => sweepLeftovers(runtime, runParent()),
    close: async () => {
      isClosed = true;
      const running = await engine?.catch(() => null);
      engine = null;
      await Promise.all([...live.values()].map((sandbox) => sandbox.destroy()));
      await running?.zygote.close();
    },
  };
}

async function destroyOne(sandbox: Sandbox | undefined): Promise<"destroyed" | "absent"> {
  await sandbox?.destroy();
  return sandbox === undefined ? "absent" : "destroyed";
}

function carries(labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

const TRIAL: SandboxRequest = {
  attemptId: "probe",
  role: "agent",
  fence: 0,
  image: "host",
  isolationMin: "namespace",
  limits: {
    cpus: 1,
    memoryBytes: 64 << 20,
    diskBytes: 8 << 20,
    filesMax: 1_000,
    processesMax: 16,
    shmBytes: 1 << 20,
  },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: 60_000,
};

/** With a provider of its own, so that a probe changes nothing of the one that serves. */
async function tryOneSandbox(options: NamespaceProviderOptions): Promise<Zygote["groups"]> {
  requireLinux();
  const { path } = await buildNative("helper");
  const image = buildHostImage(options.runtime, options.imageFolder, path);
  const zygote = await startZygote(path, { store: dirname(image.folder) });
  const provider = namespaceProvider(options);
  try {
    const sandbox = await provider.create(TRIAL, new AbortController().signal);
    await sandbox.destroy();
    return zygote.groups;
  } finally {
    await provider.close();
    await zygote.close();
  }
}

async function createSandbox(
  { runtime, proxy }: NamespaceProviderOptions,
  { zygote, socket, image }: Engine & { readonly socket: Socket },
  request: SandboxRequest,
  info: SandboxInfo,
  signal: AbortSignal,
): Promise<{ readonly sandbox: Sandbox; readonly gone: Promise<void> }> {
  const network = networkControl({ runtime, requested: request.network, ...(proxy === undefined ? {} : { proxy }) });
  const port = network.port();
  const client = new AgentClient(info.id, socket, { onRelayFrame: port.onFrame });
  const kill = (): void => zygote.kill(info.id);
  const context = {
    client,
    runtime,
    kill,
    get envVars() {
      return { ...network.envVars, ...request.envVars };
    },
  };
  socket.write(encodeFrame(0, FRAME.create, 0, encodeCreate(info, request, basename(image.folder))));
  /* Sent at once behind the create frame: the sandbox is ready when this first command has answered. */
  const first = startCommand(context, ["/bin/true"], { timeoutMs: CREATE_MS_MAX, outputBytesMax: 1_024 });
  const abort = (): void => kill();
  signal.addEventListener("abort", abort, { once: true });
  try {
    const result = await first.result;
    refuseCancelled(signal);
    if (result.exitCode !== 0)
      throw new Failure(
        "sandbox_unavailable",
        `Sandbox ${info.id} was made, but its first command ended as ${result.verdict} (${result.startError ?? result.exitCode}).`,
      );
    await port.open(client);
  } catch (error) {
    kill();
    await client.gone;
    refuseCancelled(signal);
    const isOurs = error instanceof Failure && error.code === "sandbox_unavailable";
    if (isOurs) throw error;
    throw new Failure("sandbox_unavailable", `Sandbox ${info.id} could not be made: ${String(error)}`, {
      cause: error,
    });
  } finally {
    signal.removeEventListener("abort", abort);
  }
  const { lifetimeMs, idleMs } = request;
  const idle = idleMs === undefined ? {} : { idleMs };
  const sandbox = agentSandbox({ info, context, lifetimeMs, ...idle, networkControl: network });
  return { sandbox, gone: client.gone };
}

function refuseCancelled(signal: AbortSignal): void {
  if (signal.aborted)
    throw new Failure("cancelled", "The creation of a sandbox was cancelled.", { cause: signal.reason });
}

function encodeCreate(info: SandboxInfo, request: SandboxRequest, lowers: string): Buffer {
  const { limits } = info;
  const fields = {
    id: info.id,
    memory: limits.memoryBytes,
    disk: limits.diskBytes,
    shm: limits.shmBytes,
    files: limits.filesMax,
    processes: limits.processesMax,
    cpu: Math.max(1_000, Math.round(limits.cpus * 100_000)),
    seccomp: request.seccomp ?? "default",
    system: 1,
    lowers,
  };
  return Buffer.from(
    Object.entries(fields)
      .map(([name, value]) => `${name}=${value}\0`)
      .join(""),
  );
}

/** Refuses what this provider cannot keep; nothing is weakened or ignored in silence. */
function refuse(request: SandboxRequest): void {
  if (STRENGTH.indexOf(request.isolationMin) > STRENGTH.indexOf("namespace"))
    throw new Failure(
      "isolation_too_weak",
      `Isolation "${request.isolationMin}" was asked for; the namespace provider offers "namespace".`,
    );
  hostRules(request.network);
  if (request.image !== "host")
    throw new Failure(
      "image_unavailable",
      `Image "${request.image}" is unknown; the namespace provider offers "host".`,
    );
  for (const [name, value] of Object.entries(request.limits)) {
    const isValid = Number.isFinite(value) && value > 0 && (name === "cpus" || Number.isInteger(value));
    if (!isValid)
      throw new Failure("request_invalid", `Sandbox limit ${name} must be a positive whole number, not ${value}.`);
  }
  if (!(request.lifetimeMs > 0))
    throw new Failure("request_invalid", `Sandbox lifetimeMs must be positive, not ${request.lifetimeMs}.`);
}

export function requireLinux(): void {
  if (process.platform !== "linux")
    throw new Failure(
      "environment_missing",
      "The namespace provider needs Linux; run Sandlot on a Linux machine or in a virtual one.",
    );
}

function support(where: string): LimitSupport {
  return where === "none" ? "none" : "enforced";
}

function capabilitiesOf(
  memory: LimitSupport,
  pids: LimitSupport,
  cpu: LimitSupport,
  killTree: SandboxCapabilities["killTree"],
): SandboxCapabilities {
  return {
    isolation: "namespace",
    network: ["off", "allow-list", "open"],
    limits: {
      cpus: cpu,
      memoryBytes: memory,
      diskBytes: "enforced",
      filesMax: "enforced",
      processesMax: pids,
      shmBytes: "enforced",
    },
    oomEvidence: memory === "none" ? "none" : "per-sandbox",
    killTree,
    snapshot: "none",
    forksMax: 0,
    unsupported: {},
  };
}
