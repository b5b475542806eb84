/**
 * The pool lends fresh sandboxes: some are kept ready per shape, the rest are made when claimed. A used sandbox is
 * destroyed, never lent again.
 */
import type { ImageReference, Isolation, Sandbox, SandboxLimits, SandboxRequest } from "./sandbox.ts";

/** What two requests must share for one ready sandbox to serve either. */
export interface PoolShape {
  readonly image: ImageReference;
  readonly isolationMin: Isolation;
  readonly limits: SandboxLimits;
  readonly seccomp: "default" | "strict";
}

/** How a claim was served: by one that was ready, or by one made after the claim; a fork is always `cold`. */
export type ClaimPath = "ready" | "cold";

/** A lent sandbox. Destroying it gives its place back. */
export interface SandboxLease extends Sandbox, AsyncDisposable {
  readonly claimPath: ClaimPath;
}

/** Milliseconds; null before there was one. */
export interface LatencyStats {
  readonly count: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Counts of this moment, and since the pool was opened. */
export interface SandboxPoolStats {
  readonly ready: number;
  readonly creating: number;
  readonly lent: number;
  /** Being destroyed. */
  readonly draining: number;
  /** Sandboxes whose end is not confirmed, and shapes whose creations keep failing. */
  readonly quarantined: number;
  /** Claims waiting for a place. */
  readonly waiting: number;
  /** Ready sandboxes wanted at this moment, over all shapes. */
  readonly target: number;
  readonly created: number;
  readonly destroyed: number;
  /** Found at the provider with nobody responsible for them: each is a fault of ours. */
  readonly orphansDestroyed: number;
  /** Creations that failed. */
  readonly failed: number;
  /** Of creations, and of ready ones that died. */
  readonly failuresByCode: Readonly<Record<string, number>>;
  readonly claimsByPath: Readonly<Record<ClaimPath, number>>;
  /** From the claim to its sandbox, the wait for a place included. */
  readonly claim: LatencyStats;
  readonly create: LatencyStats;
  readonly destroy: LatencyStats;
}

/** How a claim stands among others. */
export interface ClaimOptions {
  /** Higher is served first; first in, first out within one. Default 0. */
  readonly priority?: number;
}

/** Once it drains, claims and prewarming throw `sandbox_unavailable`. */
export interface SandboxPool {
  /**
   * Makes `count` ready ones of a shape and keeps that many until `drain`, as long as memory is left. Resolves when they
   * are ready. A call that throws keeps none. Throws `request_invalid` when all that were asked for are more than the pool keeps, `unsupported` where the
   * provider cannot adopt, and why none could be made.
   */
  prewarm(shape: PoolShape, count: number): Promise<void>;
  /** Lends a fresh sandbox to `use` and always destroys it, also when `use` throws. Waits while the pool is full. */
  withSandbox<T>(request: SandboxRequest, signal: AbortSignal, use: (sandbox: Sandbox) => Promise<T>): Promise<T>;
  /** A fresh sandbox the caller must `destroy()`. Waits while the pool is full. */
  claim(request: SandboxRequest, signal: AbortSignal, options?: ClaimOptions): Promise<SandboxLease>;
  stats(): SandboxPoolStats;
  /** Stops refilling, destroys the ready ones, waits until the lent ones are back. */
  drain(): Promise<void>;
}
