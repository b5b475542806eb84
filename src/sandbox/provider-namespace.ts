/**
 * The default provider: sandboxes of Linux namespaces, overlay and control groups, made by the native helper. Isolation
 * is shared-kernel and says so. `probe()` tells what this machine lacks and how to get it.
 */
import { availableParallelism } from "node:os";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import type { ImageStore } from "./image/image-contract.ts";
import { openImageStore } from "./image/image-store.ts";
import { refuseCancelled } from "./machine.ts";
import { engineSource, startEngine } from "./namespace-engine.ts";
import { capabilitiesOf, refuseRequest } from "./namespace-limits.ts";
import { type NamespaceSandbox, openSandbox, RETRY_LABEL } from "./namespace-sandbox.ts";
import { persistLayer } from "./persist-layer.ts";
import { probeNamespaces } from "./probe.ts";
import { checkRoutes, type ProxyOptions } from "./proxy/proxy.ts";
import { sweepLeftovers } from "./sweep.ts";
import { tryOneSandbox } from "./trial.ts";
import { type GroupSupport, runParent } from "./zygote.ts";

export { requireLinux } from "./namespace-engine.ts";

export interface NamespaceProviderOptions {
  readonly runtime: Runtime;
  /** Where built images lie; default in the user's cache. */
  readonly imageFolder?: string;
  /** Finds, builds and keeps images; default one over `imageFolder`. Its folder is the one that is mounted. */
  readonly images?: ImageStore;
  /** Routes, caps and name resolution of the sandboxes' networks. */
  readonly proxy?: ProxyOptions;
  /**
   * Blanks kept while resets, snapshots and forks ask for them, and for 30 s after: machines begun for nobody, which save
   * such a call the making of groups and name spaces. Default one per core; 0 for none.
   */
  readonly blanksMax?: number;
  /** A helper built otherwise, as with sanitizers. For tests. */
  readonly helperPath?: string;
  /** Asked before each machine is made: `STEP:ERRNO` makes the helper fail after that step. For tests. */
  readonly nextFault?: () => string | undefined;
}

/**
 * A creation is idempotent by (attemptId, role, fence) together with the label `retryKey`: a second one with all four the
 * same, while the first is under way or its sandbox lives, gets the same sandbox. Without that label each creation makes
 * a sandbox of its own, because a pool makes many ready ones from one request and a task may start several for one role.
 */
export function namespaceProvider(options: NamespaceProviderOptions): SandboxProvider {
  const { runtime, proxy, nextFault } = options;
  checkRoutes(proxy?.routes ?? []);
  const images = options.images ?? defaultImages(options);
  const live = new Map<string, NamespaceSandbox>();
  let capabilities = capabilitiesOf(null);
  const source = engineSource({
    runtime,
    images,
    allowsFaults: nextFault !== undefined,
    helperPath: options.helperPath,
    blanksMax: options.blanksMax ?? availableParallelism(),
    onStart: ({ zygote }) => {
      capabilities = capabilitiesOf(zygote);
    },
  });
  const create = async (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> => {
    refuseRequest(request);
    refuseCancelled(signal);
    const image = await images.resolve(request.image, { signal });
    const { engine, socket } = await source.connect();
    const persist = persistLayer({ runtime, engine, images });
    const parts = { runtime, engine, image, proxy, live, persist, nextFault };
    return (await openSandbox(parts, request, { socket, layer: null, signal })).sandbox;
  };
  const creations = new Map<string, Promise<Sandbox>>();
  return {
    name: "namespace",
    get capabilities() {
      return capabilities;
    },
    probe: () => probeNamespaces({ run: () => tryGroups(options) }),
    create: (request, signal) => {
      const key = retryKey(request);
      if (key === null) return create(request, signal);
      return createOnce(creations, live, key, () => create(request, signal));
    },
    adopt: (sandbox, request) => adopt(live.get(sandbox.id), request),
    list: async (labels = {}) =>
      [...live.values()].map(({ sandbox }) => sandbox.info).filter((info) => carries(info.labels, labels)),
    destroy: async (id) => {
      const found = live.get(id);
      await found?.sandbox.destroy();
      return found === undefined ? "absent" : "destroyed";
    },
    sweep: () => sweepLeftovers(runtime, runParent()),
    close: () => source.close(() => Promise.all([...live.values()].map(({ sandbox }) => sandbox.destroy()))),
  };
}

function defaultImages({ runtime, imageFolder }: NamespaceProviderOptions): ImageStore {
  return openImageStore({ runtime, ...(imageFolder === undefined ? {} : { folder: imageFolder }) });
}

function retryKey({ attemptId, role, fence, labels }: SandboxRequest): string | null {
  const key = labels[RETRY_LABEL];
  return key === undefined ? null : JSON.stringify([attemptId, role, fence, key]);
}

/** A creation under way or a live sandbox of the same key, else a new one. */
async function createOnce(
  creations: Map<string, Promise<Sandbox>>,
  live: ReadonlyMap<string, NamespaceSandbox>,
  key: string,
  create: () => Promise<Sandbox>,
): Promise<Sandbox> {
  const made = [...live.values()].find(({ request }) => retryKey(request) === key);
  if (made !== undefined) return made.sandbox;
  const creation = creations.get(key) ?? create().finally(() => creations.delete(key));
  creations.set(key, creation);
  return creation;
}

async function adopt(found: NamespaceSandbox | undefined, request: SandboxRequest): Promise<Sandbox> {
  if (found === undefined)
    throw new Failure("sandbox_lost", "The sandbox to adopt is gone, or another provider made it.");
  refuseRequest(request);
  const shape = ({ image, limits, seccomp }: SandboxRequest): string =>
    JSON.stringify([image, Object.entries(limits).sort(), seccomp ?? "default"]);
  if (shape(request) !== shape(found.request))
    throw new Failure(
      "request_invalid",
      `Sandbox ${found.sandbox.id} was made with another image, other limits or another seccomp profile than asked for.`,
    );
  return found.adopt(request);
}

function carries(labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** Which groups limit sandboxes here, when one could be made. */
async function tryGroups(options: NamespaceProviderOptions): Promise<GroupSupport> {
  const images = options.images ?? defaultImages(options);
  const { zygote } = await startEngine({ runtime: options.runtime, images, allowsFaults: false });
  try {
    await tryOneSandbox(namespaceProvider(options));
    return zygote.groups;
  } finally {
    await zygote.close();
  }
}
