/**
 * The engine's Node-API addon as TypeScript sees it. Short calls return at once; heavy ones settle a promise and run off
 * the event loop. `Engine.use` (engine.ts) queues them: one heavy call at a time, and no short call beside a heavy one.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { buildNative } from "../../../native/build.ts";

/** An open engine; opaque. */
export type EngineHandle = { readonly engine: unique symbol };

export interface EngineConfig {
  readonly layers: number;
  readonly width: number;
  readonly vocab: number;
  readonly context: number;
  readonly threads: number;
  /** Samples one worker runs at once. */
  readonly slots: number;
  /** Most rows of one product; at least the context. */
  readonly rows: number;
  readonly snapshots: number;
  /** 1 leaves the processor's vector instructions unused. */
  readonly forceGeneric: 0 | 1;
}

export interface EngineDescription {
  readonly kernels: "avx2" | "generic";
  readonly parameters: number;
  readonly bytes: number;
  readonly adamStep: number;
  readonly rowsPrefilled: number;
  readonly rowsDecoded: number;
  /** Prompt tokens whose keys and values were taken over from another sample. */
  readonly rowsShared: number;
}

/** Sequences end to end. `order`, `packEnds` and `workerEnds` are the plan; the last has one entry for each thread. */
export interface TrainCall {
  readonly tokens: Int32Array;
  readonly offsets: Int32Array;
  readonly mask: Uint8Array;
  readonly coefficients: Float32Array | null;
  readonly temperatures: Float32Array;
  readonly order: Int32Array;
  readonly packEnds: Int32Array;
  readonly workerEnds: Int32Array;
  /** Written. */
  readonly logprobs: Float32Array;
  /** Written when not null. */
  readonly entropy: Float32Array | null;
  /** -1: the live weights; else a snapshot. */
  readonly weights: number;
}

export interface SubmitCall {
  readonly id: number;
  readonly snapshot: number;
  readonly promptIds: Int32Array;
  readonly stopIds: Int32Array;
  readonly tokensMax: number;
  readonly temperature: number;
  readonly seed: bigint;
}

export interface FinishedSample {
  readonly id: number;
  readonly ids: Int32Array;
  readonly logprobs: Float32Array;
  readonly isStopped: boolean;
}

export interface AdamCall {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  readonly gradientClip: number;
}

export interface EngineAddon {
  bytes(config: EngineConfig): number;
  open(config: EngineConfig): EngineHandle;
  close(engine: EngineHandle): void;
  describe(engine: EngineHandle): EngineDescription;
  /** Place 0: live weights; 1, 2: Adam moments; 3 and up: snapshots. After a write, `refresh`. */
  copy(engine: EngineHandle, place: number, array: Float32Array, isWrite: boolean): void;
  gradient(engine: EngineHandle, array: Float32Array): void;
  setAdamStep(engine: EngineHandle, step: number): void;
  /** False while the queue is full. */
  submit(engine: EngineHandle, request: SubmitCall): boolean;
  cancel(engine: EngineHandle, id: number): void;
  collect(engine: EngineHandle): FinishedSample[];
  initialize(engine: EngineHandle, options: { readonly seed: bigint }): Promise<number>;
  train(engine: EngineHandle, call: TrainCall): Promise<number>;
  /** The gradient's norm before clipping; when it is not finite the weights are as before. */
  optimize(engine: EngineHandle, options: AdamCall): Promise<number>;
  discard(engine: EngineHandle, options: object): Promise<number>;
  /** Copies the live weights; 0 when one of them is not finite. */
  snapshot(engine: EngineHandle, options: { readonly index: number }): Promise<number>;
  sample(engine: EngineHandle, options: { readonly steps: number }): Promise<number>;
  refresh(engine: EngineHandle, options: object): Promise<number>;
  /** GFLOP per second of processor time, of one square product on one thread. */
  bench(engine: EngineHandle, options: { readonly size: number }): Promise<number>;
}

export interface LoadedAddon {
  readonly addon: EngineAddon;
  /** SHA-256 of the compiled addon: two equal builds compute equal bits. */
  readonly build: string;
}

let loaded: Promise<LoadedAddon> | null = null;

/** Compiles the engine when needed and loads it, once for this process. Throws `environment_missing`. */
export function loadAddon(): Promise<LoadedAddon> {
  loaded ??= load().catch((error: unknown) => {
    loaded = null;
    throw error;
  });
  return loaded;
}

async function load(): Promise<LoadedAddon> {
  const { path } = await buildNative("engine");
  const build = createHash("sha256").update(readFileSync(path)).digest("hex");
  return { addon: createRequire(import.meta.url)(path) as EngineAddon, build };
}
