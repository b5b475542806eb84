/**
 * Sandboxes as containers of a Docker or Podman engine, spoken to through its API socket. One container per sandbox, the
 * same agent in it as PID 1, and one attached stream that carries every frame. Isolation is what the engine's runtime
 * gives: shared kernel by default, `gvisor` with runsc, `vm` with Kata.
 */
import { hostname } from "node:os";
import { buildNative } from "../../native/build.ts";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type {
  Sandbox,
  SandboxCapabilities,
  SandboxInfo,
  SandboxProvider,
  SandboxRequest,
  SweepReport,
} from "../core/sandbox.ts";
import { agentSandbox } from "./agent-sandbox.ts";
import { requireStatic } from "./engine/agent-program.ts";
import { containerCapabilities, refuseUnkept, refuseUnlimited } from "./engine/container-capabilities.ts";
import { startMachine } from "./engine/container-machine.ts";
import type { ContainerPlan } from "./engine/container-options.ts";
import {
  type EngineClient,
  type EngineFacts,
  type EngineKind,
  engineClient,
  findSocket,
} from "./engine/engine-client.ts";
import { type EngineImages, engineImages } from "./engine/engine-image.ts";
import { probeEngine } from "./engine/engine-probe.ts";
import { LABEL } from "./engine/labels.ts";
import { ownerToken } from "./engine/owner-token.ts";
import type { ImageStore } from "./image/image-contract.ts";
import { ownerState } from "./leftovers.ts";
import { networkControl } from "./proxy/network-control.ts";
import { checkRoutes, type ProxyOptions } from "./proxy/proxy.ts";

/** Which engine, with what, and what sandboxes may reach. */
export interface DockerProviderOptions {
  readonly runtime: Runtime;
  /** Default: where the engine usually listens; see `socketCandidates`. */
  readonly socketPath?: string;
  /** Narrows where a socket is looked for. */
  readonly engine?: EngineKind;
  /** A runtime registered with the engine, such as `runsc` or `kata-runtime`; default the engine's own. */
  readonly runtimeClass?: string;
  /** Makes every image but `host` and `oci:REF`; without it those are unavailable. */
  readonly images?: ImageStore;
  /** Routes, caps and name resolution of the sandboxes' networks. */
  readonly proxy?: ProxyOptions;
}

interface Connection {
  readonly engine: EngineClient;
  readonly facts: EngineFacts;
  readonly images: EngineImages;
  readonly agentProgram: string;
}

/** Speaks to the engine with the first creation, list or sweep; until then its capabilities are what may be expected. */
export function dockerProvider(options: DockerProviderOptions): SandboxProvider {
  const { runtime, runtimeClass, proxy } = options;
  checkRoutes(proxy?.routes ?? []);
  const owner = ownerToken(runtime);
  const live = new Map<string, Sandbox>();
  const creating = new Set<Promise<unknown>>();
  let connection: Promise<Connection> | null = null;
  let capabilities = containerCapabilities(null, runtimeClass);
  let isClosed = false;

  const connect = (): Promise<Connection> => {
    if (isClosed) throw new Failure("sandbox_unavailable", "The sandbox provider was closed.");
    connection ??= open(options, owner).then((opened) => {
      capabilities = containerCapabilities(opened.facts, runtimeClass);
      return opened;
    });
    connection.catch(() => (connection = null));
    return connection;
  };
  const create = async (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> => {
    refuseUnkept(request, capabilities);
    const { sandbox, gone } = await makeSandbox(options, await connect(), { owner, capabilities, request, signal });
    live.set(sandbox.id, sandbox);
    void gone.then(() => live.delete(sandbox.id));
    return sandbox;
  };

  return {
    name: options.engine ?? "docker",
    get capabilities() {
      return capabilities;
    },
    probe: () => probeEngine(options, () => dockerProvider(options)),
    create: (request, signal) => {
      const made = create(request, signal);
      creating.add(made);
      void made.catch(() => undefined).then(() => creating.delete(made));
      return made;
    },
    list: async (labels = {}) => {
      const { engine } = await connect();
      const found = await engine.list(`${LABEL.owner}=${owner}`);
      return found
        .filter(({ isRunning }) => isRunning)
        .map((container) => JSON.parse(container.labels[LABEL.info] ?? "null") as SandboxInfo | null)
        .filter((info) => info !== null)
        .filter((info) => Object.entries(labels).every(([name, value]) => info.labels[name] === value));
    },
    destroy: async (id) => {
      const sandbox = live.get(id);
      if (sandbox !== undefined) {
        await sandbox.destroy();
        return "destroyed";
      }
      const { engine } = await connect();
      const found = await engine.list(`${LABEL.id}=${id}`);
      const removed = await Promise.all(found.map((container) => engine.remove(container.id)));
      return removed.includes(true) ? "destroyed" : "absent";
    },
    sweep: async () => sweepContainers(runtime, (await connect()).engine),
    close: async () => {
      isClosed = true;
      await Promise.allSettled(creating);
      await Promise.all([...live.values()].map((sandbox) => sandbox.destroy()));
    },
  };
}

async function open(options: DockerProviderOptions, owner: string): Promise<Connection> {
  const { runtime } = options;
  const client = engineClient(runtime, options.socketPath ?? findSocket(options.engine));
  const facts = await client.facts();
  const { runtimeClass } = options;
  if (runtimeClass !== undefined && facts.runtimes[runtimeClass] === undefined)
    throw new Failure(
      "environment_missing",
      `The container engine at ${client.socketPath} has no runtime "${runtimeClass}"; install it and register it there.`,
    );
  refuseUnlimited(facts);
  const { path } = await buildNative("helper");
  requireStatic(path);
  await sweepContainers(runtime, client);
  const images = engineImages({ runtime, client, owner, store: options.images ?? null });
  return { engine: client, facts, images, agentProgram: path };
}

interface Order {
  readonly owner: string;
  readonly capabilities: SandboxCapabilities;
  readonly request: SandboxRequest;
  readonly signal: AbortSignal;
}

async function makeSandbox(
  { runtime, runtimeClass, proxy }: DockerProviderOptions,
  { engine, facts, images, agentProgram }: Connection,
  { owner, capabilities, request, signal }: Order,
): Promise<{ readonly sandbox: Sandbox; readonly gone: Promise<void> }> {
  const image = await images.resolve(request.image, signal);
  const info = infoOf(runtime, request, image.hash, capabilities.isolation, facts.kind);
  const expiresAt = runtime.now() + request.lifetimeMs;
  const hasDiskQuota = capabilities.limits.diskBytes === "enforced";
  const runtimeName = runtimeClass ?? null;
  const plan: ContainerPlan = { request, info, image, agentProgram, owner, expiresAt, runtimeName, hasDiskQuota };
  const network = networkControl({ runtime, requested: request.network, ...(proxy === undefined ? {} : { proxy }) });
  const parts = { runtime, engine, port: network.port() };
  const { client, kill } = await startMachine(parts, plan, signal).catch((error: unknown) => {
    images.forget(request.image);
    throw error;
  });
  const context = {
    client,
    runtime,
    kill,
    ...(image.workdir === null ? {} : { workdir: image.workdir }),
    get envVars() {
      return { ...image.envVars, ...network.envVars, ...request.envVars };
    },
  };
  const { lifetimeMs, idleMs } = request;
  const idle = idleMs === undefined ? {} : { idleMs };
  const sandbox = agentSandbox({ info, context, lifetimeMs, ...idle, networkControl: network });
  return { sandbox, gone: client.gone };
}

function infoOf(
  runtime: Runtime,
  request: SandboxRequest,
  imageHash: string,
  isolation: SandboxInfo["isolation"],
  provider: EngineKind,
): SandboxInfo {
  return {
    id: runtime.id().toLowerCase(),
    provider,
    isolation,
    image: request.image,
    imageHash,
    limits: request.limits,
    network: request.network.mode,
    labels: { ...request.labels, attemptId: request.attemptId, role: request.role, fence: String(request.fence) },
  };
}

/** Removes containers of ours whose owner is dead or whose lifetime is over, and nothing else. */
async function sweepContainers(runtime: Runtime, engine: EngineClient): Promise<SweepReport> {
  const removed: string[] = [];
  const kept: string[] = [];
  for (const { id, labels } of await engine.list(LABEL.owner)) {
    const isOurs = labels[LABEL.machine] === hostname();
    const isDead = isOurs && ownerState(labels[LABEL.owner] ?? "") === "dead";
    /* A living owner of this machine ends its own, and may have given them more time than the label says. */
    const isOver = !isOurs && Number(labels[LABEL.expiresAt] ?? Number.POSITIVE_INFINITY) < runtime.now();
    if (isDead || isOver) await engine.remove(id);
    (isDead || isOver ? removed : kept).push(`container ${labels[LABEL.id] ?? id}`);
  }
  return { removed, kept };
}
