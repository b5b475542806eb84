/**
 * The embedded policy backend: a small transformer trained and sampled on this machine's processors, off the event loop.
 * Results are bit-equal for equal seeds, thread count and build.
 */
import { Failure } from "../../core/errors.ts";
import type { Tokenizer } from "../../core/policy.ts";
import type { PolicyBackend, PolicyCapabilities } from "../../core/policy-backend.ts";
import type { Runtime } from "../../core/runtime.ts";
import { checkpoints } from "./checkpoint.ts";
import { defaultThreads, ENGINE_MEMORY_BYTES_MAX, type Engine, openEngine } from "./engine.ts";
import { probeEngine } from "./probe.ts";
import { embeddedSampler } from "./sampler.ts";
import { type ModelShape, resolveShape, type ShapePreset } from "./shape.ts";
import { snapshotShelf } from "./snapshots.ts";
import { embeddedTrainer } from "./trainer.ts";

const SNAPSHOTS_MAX = 6;
const SLOTS_PER_THREAD = 48;

export interface EmbeddedOptions {
  readonly shape: ModelShape | ShapePreset;
  /** Tokens; replaces the shape's context. */
  readonly contextMax?: number;
  readonly tokenizer: Tokenizer;
  /** Of the initial weights, unsigned 64-bit. */
  readonly seed: bigint;
  /** 1 to 16; default: one for each processor. */
  readonly threads?: number;
  /** Where checkpoints are written and looked for; created when first needed. */
  readonly checkpointFolder: string;
  /** The engine refuses to open when the computed need is over this. Default 2 GiB. */
  readonly memoryBytesMax?: number;
  /** Snapshots held at once, at least 3: a reference and the two newest. Default 6. */
  readonly snapshotsMax?: number;
  /** Samples one thread decodes together. Default 48. */
  readonly slotsPerThread?: number;
  /** Leaves vector instructions unused, for tests. Also set by SANDLOT_ENGINE_KERNELS=generic. */
  readonly forceGeneric?: boolean;
  readonly runtime: Runtime;
}

/**
 * Opens the engine with fresh weights. Throws `config_invalid` for a shape or thread count out of range and when the
 * computed memory is over the limit, `environment_missing` when the engine cannot be compiled.
 */
export async function embeddedBackend(options: EmbeddedOptions): Promise<PolicyBackend> {
  const { tokenizer, seed, runtime, checkpointFolder: folder, snapshotsMax = SNAPSHOTS_MAX } = options;
  const shape = resolveShape(options.shape, options.contextMax);
  if (!Number.isInteger(snapshotsMax) || snapshotsMax < 3) {
    throw new Failure("config_invalid", `snapshotsMax must be 3 or more, not ${snapshotsMax}.`);
  }
  const engine = await openEngine({
    shape,
    vocab: tokenizer.size,
    threads: options.threads ?? defaultThreads(),
    slotsPerThread: options.slotsPerThread ?? SLOTS_PER_THREAD,
    snapshotsMax,
    memoryBytesMax: options.memoryBytesMax ?? ENGINE_MEMORY_BYTES_MAX,
    forceGeneric: options.forceGeneric ?? process.env["SANDLOT_ENGINE_KERNELS"] === "generic",
  });
  await engine.use((addon, handle) => addon.initialize(handle, { seed: BigInt.asUintN(64, seed) }));
  const bounds = { vocab: tokenizer.size, contextMax: shape.context };
  const shelf = snapshotShelf(engine, tokenizer.sha256);
  const sampler = embeddedSampler(engine, shelf, bounds);
  const trainer = {
    ...embeddedTrainer(engine, bounds),
    ...checkpoints({ engine, shape, tokenizer, folder, runtime }),
    snapshot: shelf.take,
  };
  const probe = async (): Promise<PolicyCapabilities> => {
    await probeEngine({ sampler, trainer, shelf, tokenizer, contextMax: shape.context });
    return capabilities(engine, shape);
  };
  return { sampler, trainer, probe, close: engine.close };
}

function capabilities(engine: Engine, shape: ModelShape): PolicyCapabilities {
  const { layers, width, context } = shape;
  return {
    tokensIn: true,
    logprobs: true,
    contextMax: context,
    parameters: engine.parameters,
    description: `embedded ${layers}x${width}, context ${context}, ${engine.kernels} kernels, ${engine.config.threads} threads, ${Math.round(engine.bytes / 1024 ** 2)} MiB`,
  };
}
