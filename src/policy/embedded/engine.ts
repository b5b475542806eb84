/**
 * One open engine and the lane that queues its heavy calls. Everything that touches the addon goes through `use`, so
 * sampling, training and snapshots never overlap and each sees the engine at rest.
 */
import { availableParallelism } from "node:os";
import { Failure } from "../../core/errors.ts";
import { type EngineAddon, type EngineConfig, type EngineHandle, loadAddon } from "./addon.ts";
import type { ModelShape } from "./shape.ts";

/** Default of `memoryBytesMax`. */
export const ENGINE_MEMORY_BYTES_MAX = 2 * 1024 ** 3;
const THREADS_MAX = 16;
/** Rows of one product: short sequences are packed up to about this many. */
const PACK_ROWS = 256;

export interface EngineOptions {
  readonly shape: ModelShape;
  readonly vocab: number;
  readonly threads: number;
  readonly slotsPerThread: number;
  readonly snapshotsMax: number;
  readonly memoryBytesMax: number;
  readonly forceGeneric: boolean;
}

export interface Engine {
  readonly config: EngineConfig;
  readonly build: string;
  readonly kernels: string;
  readonly parameters: number;
  readonly bytes: number;
  /** Runs `work` when all earlier work has ended. Throws `cancelled` once the engine is closed. */
  use<T>(work: (addon: EngineAddon, handle: EngineHandle) => Promise<T> | T): Promise<T>;
  /** After all queued work. A second close does nothing. */
  close(): Promise<void>;
}

/** Threads to use when nothing is said: one for each processor, at most 16. */
export function defaultThreads(): number {
  return Math.min(THREADS_MAX, availableParallelism());
}

/** Throws `config_invalid` when the computed memory is over the limit, `environment_missing` without a compiler. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { shape, vocab, threads, slotsPerThread: slots, snapshotsMax: snapshots, memoryBytesMax } = options;
  if (!Number.isInteger(threads) || threads < 1 || threads > THREADS_MAX) {
    throw new Failure("config_invalid", `The engine's threads must be 1 to ${THREADS_MAX}, not ${threads}.`);
  }
  const { addon, build } = await loadAddon();
  const config: EngineConfig = {
    ...shape,
    vocab,
    threads,
    slots,
    snapshots,
    rows: Math.max(PACK_ROWS, shape.context),
    forceGeneric: options.forceGeneric ? 1 : 0,
  };
  const needed = addon.bytes(config);
  if (needed > memoryBytesMax) {
    throw new Failure(
      "config_invalid",
      `The embedded engine would take ${mebibytes(needed)} (${shape.layers} layers of width ${shape.width}, context ` +
        `${shape.context}, ${threads} threads), over engineMemoryBytesMax = ${mebibytes(memoryBytesMax)}. ` +
        "Choose a smaller shape, context or thread count, or raise engineMemoryBytesMax.",
    );
  }
  const handle = addon.open(config);
  const description = addon.describe(handle);
  let tail: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  const queue = <T>(work: () => Promise<T> | T): Promise<T> => {
    const result = tail.then(work);
    tail = result.catch(() => undefined);
    return result;
  };
  return {
    config,
    build: `${build}-${description.kernels}`,
    kernels: description.kernels,
    parameters: description.parameters,
    bytes: description.bytes,
    use: (work) => {
      if (isClosed) return Promise.reject(new Failure("cancelled", "The embedded engine is closed."));
      return queue(() => work(addon, handle));
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await queue(() => addon.close(handle));
    },
  };
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
}
