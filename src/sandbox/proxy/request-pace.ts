/**
 * How fast one sandbox may ask. Every request costs time of the one process that serves all sandboxes, also when it is
 * refused; a flood is cut, and until it ebbs the connections of that sandbox are served one after another.
 */
import type { Runtime } from "../../core/runtime.ts";

const AT_ONCE_MAX = 2_000;
const PER_SECOND_MAX = 200;
/** Between two connections of a sandbox that floods. */
const PACE_MS = 100;

export interface RequestPace {
  /** Counts one request; false when it is one too many, and its connection is to be cut. */
  take(): boolean;
  /** Runs `begin`, at once or in its turn. The function it gives calls that off. */
  admit(begin: () => void): () => void;
}

export function requestPace(runtime: Runtime): RequestPace {
  let left = AT_ONCE_MAX;
  let sinceMs = runtime.monotonic();
  let nextMs = 0;
  let isFlooded = false;
  const refill = (): number => {
    const now = runtime.monotonic();
    left = Math.min(AT_ONCE_MAX, left + ((now - sinceMs) * PER_SECOND_MAX) / 1_000);
    sinceMs = now;
    if (left > AT_ONCE_MAX / 2) isFlooded = false;
    return now;
  };
  return {
    take: () => {
      refill();
      isFlooded ||= left < 1;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    admit: (begin) => {
      const now = refill();
      if (!isFlooded) {
        begin();
        return () => undefined;
      }
      nextMs = Math.max(nextMs, now) + PACE_MS;
      return runtime.timer(nextMs - now, begin);
    },
  };
}
