/** The last durations of one kind, for percentiles that follow what happens now instead of all that ever happened. */
import type { LatencyStats } from "../core/sandbox-pool.ts";

const KEPT = 1_024;

/** Durations of one kind. */
export interface LatencyRing {
  /** Milliseconds. */
  add(ms: number): void;
  /** `count` counts all that were added, the percentiles the last 1,024. */
  stats(): LatencyStats;
}

/** Empty; its percentiles are null until the first duration. */
export function latencyRing(): LatencyRing {
  const kept: number[] = [];
  let count = 0;
  /** Asked for far more often than something is added. */
  let known: LatencyStats | null = null;
  return {
    add: (ms) => {
      kept[count % KEPT] = ms;
      count += 1;
      known = null;
    },
    stats: () => {
      if (known !== null) return known;
      const sorted = kept.toSorted((a, b) => a - b);
      const at = (share: number): number | null =>
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
      known = { count, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
      return known;
    },
  };
}
