/** Estimates with their uncertainty, for pass rates. Pure functions of counts. */
import type { PassRate } from "./events.ts";

const Z_95 = 1.959963984540054;

/** Wilson score interval of a proportion at 95 % (Wilson 1927, JASA 22:209). `total` 0 gives [0, 1]. */
export function wilsonInterval(successes: number, total: number): { readonly low: number; readonly high: number } {
  if (total === 0) return { low: 0, high: 1 };
  const rate = successes / total;
  const z2 = Z_95 * Z_95;
  const centre = (rate + z2 / (2 * total)) / (1 + z2 / total);
  const half = (Z_95 / (1 + z2 / total)) * Math.sqrt((rate * (1 - rate)) / total + z2 / (4 * total * total));
  // At the ends the formula gives 0 and 1 but for rounding.
  return {
    low: successes === 0 ? 0 : Math.max(0, centre - half),
    high: successes === total ? 1 : Math.min(1, centre + half),
  };
}

export function passRate(successes: number, total: number): PassRate {
  return { passRate: total === 0 ? 0 : successes / total, ...wilsonInterval(successes, total), episodes: total };
}

/**
 * Unbiased pass@k of one task from `successes` of `samples` (Chen et al. 2021, arXiv 2107.03374, eq. 1).
 * Throws RangeError when k exceeds the samples.
 */
export function passAtK(samples: number, successes: number, k: number): number {
  if (k > samples) throw new RangeError(`pass@${k} needs at least ${k} samples, not ${samples}`);
  if (samples - successes < k) return 1;
  let missAll = 1;
  for (let index = samples - successes + 1; index <= samples; index += 1) missAll *= 1 - k / index;
  return 1 - missAll;
}

/** 95 % percentile bootstrap interval of the mean of `values`, over tasks; `draw` gives uniform numbers in [0, 1). */
export function bootstrapInterval(
  values: readonly number[],
  draw: () => number,
  resamples = 2_000,
): { readonly low: number; readonly high: number } {
  if (values.length === 0) return { low: 0, high: 1 };
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let index = 0; index < values.length; index += 1) sum += values[Math.floor(draw() * values.length)] ?? 0;
    return sum / values.length;
  }).sort((a, b) => a - b);
  const at = (share: number): number => means[Math.min(resamples - 1, Math.floor(share * resamples))] ?? 0;
  return { low: at(0.025), high: at(0.975) };
}
