/**
 * The Beta distribution: what is known of a pass rate after some successes and failures. Its distribution function is
 * the regularized incomplete beta function, by its continued fraction (NIST DLMF 8.17.22, evaluated as in Lentz 1976).
 */
import type { Random } from "../core/random.ts";

/** Parameters of Beta(a, b), both above 0. */
export interface Beta {
  readonly a: number;
  readonly b: number;
}

const TERMS_MAX = 500;
const TINY = 1e-300;

/** P(p <= x) in [0, 1]; exact to about 1e-12 for parameters up to some thousands. */
export function betaAtMost({ a, b }: Beta, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast only below the mean; above it the other tail is computed.
  if (x > (a + 1) / (a + b + 2)) return 1 - betaAtMost({ a: b, b: a }, 1 - x);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return (front * continuedFraction(a, b, x)) / a;
}

/** One draw of p; uses a random number of draws of `random`, so give each draw a fork of its own. */
export function drawBeta({ a, b }: Beta, random: Random): number {
  const x = drawGamma(a, random);
  const y = drawGamma(b, random);
  return x + y === 0 ? a / (a + b) : x / (x + y);
}

function continuedFraction(a: number, b: number, x: number): number {
  let c = 1;
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= TERMS_MAX; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonZero(1 + even * d);
    c = nonZero(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonZero(1 + odd * d);
    c = nonZero(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-14) break;
  }
  return result;
}

function nonZero(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}

/** Natural logarithm of the gamma function for z > 0, by Stirling's series after shifting z above 10 (DLMF 5.11.1). */
function logGamma(z: number): number {
  let shifted = z;
  let product = 1;
  while (shifted < 10) {
    product *= shifted;
    shifted += 1;
  }
  const inverse = 1 / shifted;
  const square = inverse * inverse;
  const series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))));
  return (shifted - 0.5) * Math.log(shifted) - shifted + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}

/** Marsaglia and Tsang 2000, "A simple method for generating gamma variables"; shapes below 1 by their boost. */
function drawGamma(shape: number, random: Random): number {
  if (shape < 1) return drawGamma(shape + 1, random) * (1 - random.float()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = drawNormal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random.float()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** Box and Muller 1958. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
}
