/**
 * Tells when nobody has used something for a while: no call is open, and none was made for the given time. Calls are
 * counted by running them through `track`.
 */
import type { Runtime } from "../core/runtime.ts";

/** Longer timers would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** Counts calls of one user of a sandbox. */
export interface IdleWatch {
  /** Runs a call, which counts as use until it settles. */
  track<T>(call: () => Promise<T>): Promise<T>;
  /** The same object, each of whose methods first passes `admit` and is then tracked; they must return promises. */
  trackAll<T extends object>(target: T, admit: () => void): T;
  /** Begins anew with another time, or without any. */
  restart(idleMs: number | undefined): void;
  /** Idempotent; `onIdle` is not called any more. */
  stop(): void;
}

/** Calls `onIdle` at most once; never without `idleMs`. */
export function idleWatch(runtime: Runtime, first: number | undefined, onIdle: () => void): IdleWatch {
  let idleMs = first;
  let open = 0;
  let isStopped = false;
  let cancel = (): void => undefined;
  const wait = (): void => {
    cancel();
    if (isStopped || idleMs === undefined || open > 0) return;
    cancel = runtime.timer(Math.min(idleMs, TIMER_MS_MAX), () => {
      isStopped = true;
      onIdle();
    });
  };
  const track = async <T>(call: () => Promise<T>): Promise<T> => {
    open += 1;
    cancel();
    try {
      return await call();
    } finally {
      open -= 1;
      wait();
    }
  };
  wait();
  return {
    track,
    trackAll: (target, admit) =>
      new Proxy(target, {
        get: (object, name) => {
          const member: unknown = Reflect.get(object, name);
          if (typeof member !== "function") return member;
          return async (...words: unknown[]) => {
            admit();
            return track(async () => Reflect.apply(member, object, words) as unknown);
          };
        },
      }),
    restart: (next) => {
      idleMs = next;
      wait();
    },
    stop: () => {
      isStopped = true;
      cancel();
    },
  };
}
