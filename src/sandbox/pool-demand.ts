/**
 * How many ready sandboxes one shape is worth at this moment. Two things are covered: the claims that arrive while the
 * next sandbox is being made (rate times creation time), and the largest burst seen of late. Without claims for the
 * cool-down the answer is none, so a pool that is not used holds nothing.
 */
import type { Runtime } from "../core/runtime.ts";

/** Time constant of the arrival rate. */
const RATE_MS = 5_000;
/** Claims this close together are one burst. */
const BURST_MS = 100;
/** More than the mean is held, as arrivals bunch. */
const MARGIN = 2;

/** What recent claims of one shape say of the next. */
export interface Demand {
  /** A claim came. */
  arrived(): void;
  /** A creation took so long. */
  created(ms: number): void;
  /** Ready sandboxes wanted now, before any cap. */
  target(): number;
}

/** Asks for nothing until the first claim. */
export function demandOf(runtime: Runtime, coolDownMs: number): Demand {
  let rate = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  let burstStartMs = Number.NEGATIVE_INFINITY;
  let burst = 0;
  let peak = 0;
  let createMs = 0;
  return {
    arrived: () => {
      const now = runtime.monotonic();
      const sinceMs = now - lastMs;
      if (sinceMs > coolDownMs) peak = 0;
      rate = rate * Math.exp(-sinceMs / RATE_MS) + 1_000 / RATE_MS;
      if (now - burstStartMs > BURST_MS) {
        /* An old peak fades with each later burst, so one rush does not set the size for good. */
        peak = Math.max(peak * 0.9, burst);
        burstStartMs = now;
        burst = 0;
      }
      burst += 1;
      lastMs = now;
    },
    created: (ms) => {
      createMs = createMs === 0 ? ms : createMs * 0.9 + ms * 0.1;
    },
    target: () => {
      const sinceMs = runtime.monotonic() - lastMs;
      if (sinceMs > coolDownMs) return 0;
      const perSecond = rate * Math.exp(-sinceMs / RATE_MS);
      return Math.ceil(Math.max((perSecond * createMs * MARGIN) / 1_000, peak, burst));
    },
  };
}
