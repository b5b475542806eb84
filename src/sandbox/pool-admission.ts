/**
 * Who may have a sandbox now: a ceiling on the number, one on the memory promised, and a floor of memory really free.
 * Those who must wait are served by priority, then in the order they came, and a large one is never overtaken by a
 * small one behind it, so nothing starves.
 */
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";

/** How often the free memory is looked at again while it alone keeps claims waiting. */
const LOOK_AGAIN_MS = 250;
/** An answer about the memory serves this long, so that a burst of claims asks the kernel once. */
const STALE_MS = 50;
/** Share of the machine's memory that must stay free. */
const FREE_SHARE_MIN = 0.1;

/** Memory of the machine, in bytes. */
export interface MemoryState {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

/** Places of a pool. Each that is taken must be given back. */
export interface Admission {
  /** Resolves with the function that gives the place back. Rejects with `cancelled` when `signal` aborts first. */
  take(bytes: number, priority: number, signal: AbortSignal): Promise<() => void>;
  /** Places for all of them at once and without waiting, or null. */
  tryTake(count: number, bytesEach: number): readonly (() => void)[] | null;
  taken(): number;
  waiting(): number;
  /** True while too little memory is really free. */
  isShort(): boolean;
  /** Resolves when no place is taken. */
  idle(): Promise<void>;
}

/** Ceilings, and where the free memory is read. */
export interface AdmissionOptions {
  readonly runtime: Runtime;
  readonly max: number;
  /** Ceiling of the bytes promised to all that are lent. */
  readonly bytesMax: number;
  readonly memory: () => MemoryState;
}

interface Waiter {
  readonly bytes: number;
  readonly priority: number;
  readonly enter: () => void;
}

/** No place is taken at first. */
export function admission({ runtime, max, bytesMax, memory }: AdmissionOptions): Admission {
  const waiters: Waiter[] = [];
  const idlers: (() => void)[] = [];
  let taken = 0;
  let bytesTaken = 0;
  let isLooking = false;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let wasShort = false;

  const isShort = (): boolean => {
    const now = runtime.monotonic();
    if (now - lookedAtMs < STALE_MS) return wasShort;
    const { totalBytes, availableBytes } = memory();
    lookedAtMs = now;
    wasShort = availableBytes < totalBytes * FREE_SHARE_MIN;
    return wasShort;
  };
  /* With nothing lent there is nothing to wait for: the next one is let in, and its own limits hold it. */
  const fits = (bytes: number, count = 1): boolean =>
    taken + count <= max && bytesTaken + bytes * count <= bytesMax && (taken === 0 || !isShort());
  const place = (bytes: number): (() => void) => {
    taken += 1;
    bytesTaken += bytes;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      taken -= 1;
      bytesTaken -= bytes;
      serve();
      if (taken === 0) for (const resolve of idlers.splice(0)) resolve();
    };
  };
  const serve = (): void => {
    for (let next = waiters[0]; next !== undefined && fits(next.bytes); next = waiters[0]) {
      waiters.shift();
      next.enter();
    }
    lookAgain();
  };
  /* Places given back call `serve`; memory freed by others of this machine calls nobody. */
  const lookAgain = (): void => {
    if (isLooking || waiters.length === 0 || taken >= max) return;
    isLooking = true;
    runtime.timer(LOOK_AGAIN_MS, () => {
      isLooking = false;
      serve();
    });
  };
  return {
    take: (bytes, priority, signal) =>
      new Promise((resolve, reject) => {
        const cancelled = (): Failure =>
          new Failure("cancelled", "The wait for a sandbox was cancelled.", { cause: signal.reason });
        if (signal.aborted) return reject(cancelled());
        if (bytes > bytesMax) return reject(tooLarge(bytes, bytesMax));
        if (waiters.length === 0 && fits(bytes)) return resolve(place(bytes));
        const abort = (): void => {
          waiters.splice(waiters.indexOf(waiter), 1);
          reject(cancelled());
          serve();
        };
        const waiter: Waiter = {
          bytes,
          priority,
          enter: () => {
            signal.removeEventListener("abort", abort);
            resolve(place(bytes));
          },
        };
        const behind = waiters.findIndex((each) => each.priority < priority);
        waiters.splice(behind < 0 ? waiters.length : behind, 0, waiter);
        signal.addEventListener("abort", abort, { once: true });
        lookAgain();
      }),
    tryTake: (count, bytesEach) =>
      waiters.length === 0 && fits(bytesEach, count) ? Array.from({ length: count }, () => place(bytesEach)) : null,
    taken: () => taken,
    waiting: () => waiters.length,
    isShort,
    idle: () => (taken === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
  };
}

function tooLarge(bytes: number, bytesMax: number): Failure {
  const mib = (value: number): string => `${Math.ceil(value / 2 ** 20)} MiB`;
  return new Failure(
    "request_invalid",
    `A sandbox that may use ${mib(bytes)} (memoryBytes + diskBytes + shmBytes, divided by the overcommit ratio) can never ` +
      `be lent by a pool that may promise ${mib(bytesMax)}; lower the limits, or raise the pool's memoryBytes or overcommit.`,
  );
}
