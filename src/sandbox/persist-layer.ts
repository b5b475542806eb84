/**
 * Keeps a snapshot as an image of the store: its layers, merged into one, are shown to a machine as if it had written
 * them itself; that machine gives them out in the OCI layer format, and the store puts them on the image.
 */
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { ImageReference, SandboxRequest } from "../core/sandbox.ts";
import type { ImageStore, ResolvedImage } from "./image/image-contract.ts";
import type { Layer } from "./layer-stack.ts";
import { createMachine, type Engine } from "./machine.ts";
import { networkControl } from "./proxy/network-control.ts";
import { exportLayer } from "./sandbox-diff.ts";

/** What makes the machine that gives the layers out, and the store that takes them. */
export interface PersistOptions {
  readonly runtime: Runtime;
  readonly engine: Engine;
  readonly images: ImageStore;
}

const EXPORT_MS = 600_000;
const MIB = 1 << 20;

/** Reads only, so small limits do; the layer's own room is not this machine's. */
const REQUEST: SandboxRequest = {
  attemptId: "persist",
  role: "subject",
  fence: 0,
  image: "host",
  isolationMin: "namespace",
  limits: { cpus: 1, memoryBytes: 256 * MIB, diskBytes: MIB, filesMax: 100, processesMax: 16, shmBytes: MIB },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: EXPORT_MS,
};

/** Throws `unsupported` where layers cannot be sealed, `image_unavailable`, `sandbox_unavailable`. */
export function persistLayer(options: PersistOptions): (image: ResolvedImage, layer: Layer) => Promise<ImageReference> {
  const { runtime, engine, images } = options;
  return async (image, layer) => {
    const { stacks } = engine;
    if (stacks === null) throw new Failure("unsupported", "Without sealed layers no snapshot can be kept.");
    await stacks.flatten(layer);
    const sandboxId = runtime.id().toLowerCase();
    const network = networkControl({ runtime, requested: REQUEST.network });
    const spec = { sandboxId, request: REQUEST, image, layer, lifetimeMs: EXPORT_MS, network, showsTop: true };
    const machine = await createMachine(runtime, engine, await engine.zygote.connect(), spec);
    try {
      const context = { client: machine.client, runtime, envVars: {}, kill: machine.kill };
      const derived = await images.derive(image, exportLayer(context));
      return derived.reference;
    } finally {
      machine.client.markDestroyed();
      machine.kill();
      await machine.client.gone;
    }
  };
}
