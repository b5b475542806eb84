/**
 * Sandboxes made by the program bubblewrap, for machines where the helper can neither be compiled nor run. Their agent is
 * a Python program that speaks the helper's frames, so everything above the channel is shared. It is also what the C
 * agent is compared with.
 */
import { closeSync } from "node:fs";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import { agentSandbox } from "./agent-sandbox.ts";
import { bundleAgent, namelessFile } from "./bwrap/agent-bundle.ts";
import { bwrapCapabilities, refuseUnkept } from "./bwrap/bwrap-capabilities.ts";
import { type BwrapEngine, startMachine } from "./bwrap/bwrap-machine.ts";
import { probeBwrap } from "./bwrap/bwrap-probe.ts";
import { hostRoot } from "./bwrap/host-root.ts";
import { seccompPrograms } from "./bwrap/seccomp.ts";
import { userNamespaces } from "./bwrap/user-namespace.ts";
import { tryOneSandbox } from "./trial.ts";
import { userIds } from "./user-ids.ts";

export interface BwrapProviderOptions {
  readonly runtime: Runtime;
  /** Default `bwrap`, of the search path. */
  readonly program?: string;
  /** Where the skeleton of the `host` image is kept; default the cache. */
  readonly imageFolder?: string;
}

/** Offers the image `host` without a network; what else it does not keep its capabilities say. */
export function bwrapProvider(options: BwrapProviderOptions): SandboxProvider {
  const { runtime } = options;
  const ids = userIds();
  const capabilities = bwrapCapabilities(ids);
  const live = new Map<string, Sandbox>();
  const creating = new Set<Promise<unknown>>();
  let engine: BwrapEngine | null = null;
  let isClosed = false;

  const create = async (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> => {
    refuseUnkept(request);
    if (isClosed) throw new Failure("sandbox_unavailable", "The sandbox provider was closed.");
    engine ??= openEngine(options);
    const info = {
      id: runtime.id().toLowerCase(),
      provider: "bwrap",
      isolation: capabilities.isolation,
      image: request.image,
      imageHash: engine.root.hash,
      limits: request.limits,
      network: request.network.mode,
      labels: { ...request.labels, attemptId: request.attemptId, role: request.role, fence: String(request.fence) },
    };
    const { client, kill } = await startMachine(engine, info.id, request, signal);
    const { envVars, lifetimeMs, idleMs } = request;
    const context = { client, runtime, kill, envVars, hasOnlyRoot: ids.kind === "self" };
    const sandbox = agentSandbox({ info, context, lifetimeMs, ...(idleMs === undefined ? {} : { idleMs }) });
    live.set(info.id, sandbox);
    void client.gone.then(() => live.delete(info.id));
    return sandbox;
  };

  return {
    name: "bwrap",
    capabilities,
    probe: () => probeBwrap(options.program ?? "bwrap", () => tryOneSandbox(bwrapProvider(options))),
    create: (request, signal) => {
      const made = create(request, signal);
      creating.add(made);
      void made.catch(() => undefined).then(() => creating.delete(made));
      return made;
    },
    list: async (labels = {}) =>
      [...live.values()]
        .map(({ info }) => info)
        .filter((info) => Object.entries(labels).every(([name, value]) => info.labels[name] === value)),
    destroy: async (id) => {
      const sandbox = live.get(id);
      await sandbox?.destroy();
      return sandbox === undefined ? "absent" : "destroyed";
    },
    /* A sandbox ends with its channel, and its files have no name anywhere: a dead owner leaves nothing. */
    sweep: async () => ({ removed: [], kept: [] }),
    close: async () => {
      isClosed = true;
      await Promise.allSettled(creating);
      await Promise.all([...live.values()].map((sandbox) => sandbox.destroy()));
      if (engine !== null) await closeEngine(engine);
      engine = null;
    },
  };
}

function openEngine({ runtime, program = "bwrap", imageFolder }: BwrapProviderOptions): BwrapEngine {
  const ids = userIds();
  const root = hostRoot(runtime, imageFolder);
  const bundle = namelessFile(runtime, bundleAgent(root.skeleton, seccompPrograms()));
  return { runtime, program, ids, root, bundle, namespaces: userNamespaces(ids), views: new Map(), nextCore: 0 };
}

async function closeEngine(engine: BwrapEngine): Promise<void> {
  await engine.namespaces.close();
  for (const fd of [engine.bundle, ...engine.views.values()]) closeSync(fd);
}
