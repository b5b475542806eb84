/**
 * A policy backend offers primitives and no algorithm: sample, score, forward, forwardBackward, optimStep, snapshot,
 * save, load. Every algorithm reduces to one coefficient per token on the gradient of log-probability:
 * grad L = -sum_t c[t] * grad log p(token[t] | token[<t]). Backends sum and never average.
 *
 * All arrays are aligned with `tokens`; entry 0 of masks, log-probabilities and coefficients is 0.
 */

/** Immutable weights that can be sampled from. A version number names one weight hash for ever. */
export interface PolicySnapshot {
  readonly id: string;
  readonly version: number;
  readonly sha256: string;
  readonly tokenizerSha256: string;
}

export interface SampleRequest {
  readonly promptIds: Int32Array;
  readonly tokensMax: number;
  readonly stopIds: readonly number[];
  /** > 0; 0 means greedy. */
  readonly temperature: number;
  /** 64-bit. Equal (snapshot, prompt, seed) give equal samples, whatever else is in the batch. */
  readonly seed: bigint;
}

export interface SampleResult {
  readonly ids: Int32Array;
  /** Nats at the sampling temperature, one for each id. Greedy samples report them at temperature 1. */
  readonly logprobs: Float32Array;
  readonly stopReason: "stop" | "length";
  readonly policyVersion: number;
}

export interface PolicySampler {
  /** Results in the order of requests. Throws `policy_context_exceeded` when prompt + tokensMax is over the context. */
  sample(
    snapshot: PolicySnapshot,
    requests: readonly SampleRequest[],
    signal: AbortSignal,
  ): Promise<readonly SampleResult[]>;
  /** Log-probabilities of each sequence's tokens under a snapshot at temperature 1; entry 0 is 0. */
  score(
    snapshot: PolicySnapshot,
    sequences: readonly Int32Array[],
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]>;
}

export interface TrainSequence {
  readonly tokens: Int32Array;
  /** 1 = sampled by the policy and trained. `mask[0]` is 0. */
  readonly mask: Uint8Array;
  /** Sampling log-probabilities, nats, 0 where mask is 0. */
  readonly logprobs: Float32Array;
  readonly temperature: number;
}

/** One array per sequence, 0 where its mask is 0. They carry their own denominator. */
export type Coefficients = readonly Float32Array[];

export interface ForwardResult {
  readonly logprobs: Float32Array;
  /** Exact, nats per token; 0 where mask is 0. */
  readonly entropy: Float32Array;
}

export interface AdamOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Largest global L2 norm of the gradient; 0 = no clip. */
  readonly gradientClip: number;
}

export interface OptimStepResult {
  /** Before clipping. A non-finite norm throws `policy_not_finite` and leaves the weights untouched. */
  readonly gradNorm: number;
  readonly learningRate: number;
  /** Optimizer steps taken so far. */
  readonly step: number;
}

export interface CheckpointRef {
  readonly name: string;
  readonly folder: string;
  readonly step: number;
  readonly version: number;
  readonly sha256: string;
}

export interface PolicyTrainer {
  forward(sequences: readonly TrainSequence[]): Promise<readonly ForwardResult[]>;
  /** Adds to the gradient; returns what `forward` would have. */
  forwardBackward(sequences: readonly TrainSequence[], coefficients: Coefficients): Promise<readonly ForwardResult[]>;
  optimStep(options: AdamOptions): Promise<OptimStepResult>;
  /** Forgets the gradient gathered since the last `optimStep`. */
  discardGradient(): Promise<void>;
  /** Older snapshots make room for newer ones, but never a reference, however long it waits to be scored under. */
  snapshot(version: number, options?: { readonly isReference?: boolean }): Promise<PolicySnapshot>;
  /** Written beside, synced and renamed: a checkpoint is whole or absent. `state` is stored with it, opaque. */
  save(name: string, version: number, state: unknown): Promise<CheckpointRef>;
  /** Throws `policy_checkpoint_missing` or `policy_checkpoint_mismatch` (shape, tokenizer, or hash of a file). */
  load(
    name: string,
    options: { readonly optimizer: boolean },
  ): Promise<{ readonly ref: CheckpointRef; readonly state: unknown; readonly isBitEqual: boolean }>;
}

export interface PolicyCapabilities {
  readonly tokensIn: boolean;
  readonly logprobs: boolean;
  readonly contextMax: number;
  readonly parameters: number | null;
  readonly description: string;
}

export interface PolicyBackend {
  readonly sampler: PolicySampler;
  /** Null: evaluation only. */
  readonly trainer: PolicyTrainer | null;
  probe(): Promise<PolicyCapabilities>;
  close(): Promise<void>;
}
