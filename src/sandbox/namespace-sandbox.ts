/**
 * One sandbox of the namespace provider: a machine of the helper, its network, the lineage that gives it other machines,
 * and the handle over all of them. A fork is made here too, on its parent's layers and with a life of its own.
 */
import type { Socket } from "node:net";
import type { Runtime } from "../core/runtime.ts";
import type { NetworkPolicy, Sandbox, SandboxInfo, SandboxRequest } from "../core/sandbox.ts";
import { agentSandboxWith } from "./agent-sandbox.ts";
import type { CommandContext } from "./command-context.ts";
import type { ResolvedImage } from "./image/image-contract.ts";
import type { Layer } from "./layer-stack.ts";
import { createMachine, type Engine, type Machine } from "./machine.ts";
import { type NetworkControl, networkControl } from "./proxy/network-control.ts";
import type { ProxyOptions } from "./proxy/proxy.ts";
import { type SandboxLife, sandboxLife } from "./sandbox-life.ts";
import { SandboxLineage } from "./sandbox-lineage.ts";
import { traceSandbox } from "./sandbox-trace.ts";

/** A label with which a caller that tries a creation again gets the sandbox of its first try; forks do not carry it. */
export const RETRY_LABEL = "retryKey";

export interface NamespaceParts {
  readonly runtime: Runtime;
  readonly engine: Engine;
  readonly image: ResolvedImage;
  readonly proxy: ProxyOptions | undefined;
  /** Live sandboxes of the provider, by id. */
  readonly live: Map<string, NamespaceSandbox>;
  /** Keeps a stack of layers on the image as an image of the store; null without a store. */
  readonly persist: ((image: ResolvedImage, layer: Layer) => Promise<string>) | null;
  /** `STEP:ERRNO` for the machine made next; for tests. */
  readonly nextFault: (() => string | undefined) | undefined;
}

export interface NamespaceSandbox {
  readonly sandbox: Sandbox;
  /** What it was asked for, or adopted for. */
  readonly request: SandboxRequest;
  /** Makes it serve another request, with a handle that says so. Throws what says that it has ended. */
  adopt(request: SandboxRequest): Promise<Sandbox>;
}

export interface SandboxStart {
  /** A fresh connection to the helper. */
  readonly socket: Socket;
  /** What it stands on; the caller's hold is enough until this resolves. */
  readonly layer: Layer | null;
  /** The network in force, when narrower than requested. */
  readonly policy?: NetworkPolicy;
  readonly signal?: AbortSignal;
}

/** Resolves once a first command has answered, or a ping of a fork. Throws like `createMachine`. */
export async function openSandbox(
  parts: NamespaceParts,
  request: SandboxRequest,
  start: SandboxStart,
): Promise<NamespaceSandbox> {
  const opening = new Opening(parts, request);
  if (start.policy !== undefined) await opening.network.set(start.policy);
  const machine = await opening.createMachine(start.socket, start.layer, start.layer !== null, start.signal);
  if (start.layer !== null) parts.engine.stacks?.hold(start.layer);
  const opened = new Opened(opening, machine, start.layer);
  parts.live.set(opening.id, opened);
  return opened;
}

/** What a sandbox has before its first machine, and what each of its machines is made from. */
class Opening {
  readonly id: string;
  readonly parts: NamespaceParts;
  readonly network: NetworkControl;
  request: SandboxRequest;
  endsAtMs: number;

  constructor(parts: NamespaceParts, request: SandboxRequest) {
    const { runtime, proxy } = parts;
    this.parts = parts;
    this.id = runtime.id().toLowerCase();
    this.request = request;
    this.endsAtMs = runtime.monotonic() + request.lifetimeMs;
    const proxied = proxy === undefined ? {} : { proxy };
    this.network = networkControl({ runtime, requested: request.network, ...proxied });
  }

  createMachine(socket: Socket, layer: Layer | null, isRenewal: boolean, signal?: AbortSignal): Promise<Machine> {
    const { runtime, engine, image, nextFault } = this.parts;
    const { id: sandboxId, request, network } = this;
    const lifetimeMs = Math.max(1, this.endsAtMs - runtime.monotonic());
    const fault = nextFault?.();
    const faulty = fault === undefined ? {} : { fault };
    const spec = { sandboxId, request, image, layer, lifetimeMs, isRenewal, network, ...faulty };
    return createMachine(runtime, engine, socket, spec, signal);
  }

  info(): SandboxInfo {
    const { attemptId, role, fence, limits, labels, image, network } = this.request;
    return {
      id: this.id,
      provider: "namespace",
      isolation: "namespace",
      image,
      imageHash: this.parts.image.hash,
      limits,
      network: network.mode,
      labels: { ...labels, attemptId, role, fence: String(fence) },
    };
  }
}

class Opened implements NamespaceSandbox {
  readonly #opening: Opening;
  readonly #first: Machine;
  readonly #lineage: SandboxLineage | null;
  readonly #life: SandboxLife;
  #sandbox: Sandbox;

  constructor(opening: Opening, first: Machine, layer: Layer | null) {
    this.#opening = opening;
    this.#first = first;
    this.#lineage = this.#createLineage(layer);
    const { id, parts, request, network } = opening;
    const context = this.#context();
    const { lifetimeMs, idleMs } = request;
    const info = opening.info();
    const onGone = async (): Promise<void> => {
      await this.#lineage?.end();
      parts.live.delete(id);
    };
    this.#life = sandboxLife({ info, context, lifetimeMs, ...(idleMs === undefined ? {} : { idleMs }), onGone });
    const renewal = this.#lineage === null ? {} : { renewal: this.#lineage };
    const trace: Sandbox["trace"] = async (watched) => {
      const { zygote } = parts.engine;
      /* Only root of the machine may ask the kernel. */
      if (zygote.groups.ids !== "root") return null;
      return traceSandbox(parts.runtime, await zygote.connect(), this.#machine.boxId, watched);
    };
    this.#sandbox = agentSandboxWith(this.#life, {
      ...{ info, context, lifetimeMs, ...renewal, trace },
      networkControl: network,
      onExtended: (ms) => this.#endIn(ms),
    });
  }

  get sandbox(): Sandbox {
    return this.#sandbox;
  }

  get request(): SandboxRequest {
    return this.#opening.request;
  }

  get #machine(): Machine {
    return this.#lineage?.machine ?? this.#first;
  }

  async adopt(request: SandboxRequest): Promise<Sandbox> {
    const { network } = this.#opening;
    this.#life.restart(request.lifetimeMs, request.idleMs);
    this.#opening.request = request;
    this.#endIn(request.lifetimeMs);
    await Promise.all([network.adopt(request.network), this.#machine.client.ping()]);
    this.#sandbox = { ...this.#sandbox, info: this.#opening.info() };
    return this.#sandbox;
  }

  /** What outlives this process and ends the sandbox has a clock of its own. */
  #endIn(lifetimeMs: number): void {
    this.#opening.endsAtMs = this.#opening.parts.runtime.monotonic() + lifetimeMs;
    this.#machine.setLifetime(lifetimeMs);
  }

  /** Reads the machine and the request at each use: both may be others by then. */
  #context(): CommandContext {
    const { parts, network } = this.#opening;
    const opening = this.#opening;
    const machine = (): Machine => this.#machine;
    return {
      runtime: parts.runtime,
      ...(parts.image.workdir === null ? {} : { workdir: parts.image.workdir }),
      hasOnlyRoot: parts.engine.zygote.groups.ids === "self",
      get client() {
        return machine().client;
      },
      get envVars() {
        return { ...parts.image.envVars, ...network.envVars, ...opening.request.envVars };
      },
      kill: () => machine().kill(),
    };
  }

  #createLineage(layer: Layer | null): SandboxLineage | null {
    const opening = this.#opening;
    const { parts, network } = opening;
    const { runtime, engine, persist, image } = parts;
    if (engine.stacks === null) return null;
    const options = {
      runtime,
      sandboxId: opening.id,
      zygote: engine.zygote,
      stacks: engine.stacks,
      createMachine: async (on: Layer | null) => opening.createMachine(await engine.zygote.connect(), on, true),
      createSandbox: async (on: Layer) => {
        const { [RETRY_LABEL]: _, ...labels } = opening.request.labels;
        const socket = await engine.zygote.connect();
        const start = { socket, layer: on, policy: network.policy };
        return (await openSandbox(parts, { ...opening.request, labels }, start)).sandbox;
      },
      persist: persist === null ? null : (on: Layer) => persist(image, on),
    };
    return new SandboxLineage(options, this.#first, layer);
  }
}
