/**
 * Keeps the process running while somebody waits for the pool. Timers of the pool do not, since ready sandboxes must not
 * hold a program up; without this a program whose claims wait out a pause would end without a word.
 */
import type { Runtime } from "../core/runtime.ts";

const LONG_MS = 24 * 3_600_000;

/** Runs `work` and keeps the process running meanwhile. */
export type KeepAwake = <T>(work: () => Promise<T>) => Promise<T>;

export function keepAwake(runtime: Pick<Runtime, "sleep">): KeepAwake {
  let count = 0;
  let sleeping: AbortController | null = null;
  /* A claim served at once, which is the rule, pays for no timer. */
  const sleep = (): void => {
    if (count === 0 || sleeping !== null) return;
    sleeping = new AbortController();
    void runtime.sleep(LONG_MS, sleeping.signal).catch(() => undefined);
  };
  return async (work) => {
    count += 1;
    if (count === 1) setImmediate(sleep);
    try {
      return await work();
    } finally {
      count -= 1;
      if (count === 0) {
        sleeping?.abort();
        sleeping = null;
      }
    }
  };
}
