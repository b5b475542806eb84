/**
 * The only source of time, timers, randomness and ids. Nothing else in `src/` calls `Date`, `setTimeout`,
 * `Math.random` or `randomUUID`, so that a simulation can run the same code on a virtual clock.
 */
export interface Runtime {
  /** UTC milliseconds since the epoch; may jump. For records, never for durations. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For durations and deadlines. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with Failure `cancelled` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms` unless the returned function is called first. Does not keep the process alive. */
  timer(ms: number, fire: () => void): () => void;
  /** Random bytes fit for secrets and nonces. */
  randomBytes(count: number): Uint8Array;
  /** A new ULID: 26 characters, sorted by creation time. */
  id(): string;
}

/**
 * Settles with `work`, or throws what `onTimeout` makes when `ms` passes first. `work` goes on unless it watches
 * the signal it was given.
 */
export async function withDeadline<T>(
  runtime: Runtime,
  ms: number,
  onTimeout: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let cancel = (): void => undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    cancel = runtime.timer(ms, () => {
      const error = onTimeout();
      controller.abort(error);
      reject(error);
    });
  });
  try {
    return await Promise.race([work(controller.signal), expired]);
  } finally {
    cancel();
  }
}
