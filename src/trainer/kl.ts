/**
 * Divergence of the policy from a reference, from the log-probabilities of sampled tokens (Schulman, "Approximating KL
 * divergence", 2020). x = l - lr is clamped before `exp`, so that one impossible token cannot make a metric infinite.
 */

const DIFFERENCE_MAX = 20;
const K3_MAX = 10;

function clamp(value: number, max: number): number {
  return Math.min(max, Math.max(-max, value));
}

/** Unbiased, may be negative: l - lr. Nats. */
export function k1(logprob: number, reference: number): number {
  return clamp(logprob - reference, DIFFERENCE_MAX);
}

/** Never negative, low variance: exp(-x) - 1 + x. Nats. */
export function k3(logprob: number, reference: number): number {
  const x = k1(logprob, reference);
  return Math.min(K3_MAX, Math.max(0, Math.expm1(-x) + x));
}

/**
 * What a KL term of strength `beta` in the loss adds to the coefficient of one token of weight 1/D. It is the gradient
 * of k2 = x²/2, which on-policy is that of the reverse KL; k1 has zero expected gradient there and is not offered.
 */
export function klCoefficient(logprob: number, reference: number, beta: number, weight: number): number {
  return -beta * k1(logprob, reference) * weight;
}

/** Means over the tokens with mask 1 of all sequences; null when there are none. */
export function meanKl(
  sequences: readonly {
    readonly mask: Uint8Array;
    readonly logprobs: Float32Array;
    readonly reference: Float32Array;
  }[],
): { readonly k1: number; readonly k3: number; readonly tokens: number } | null {
  let sum1 = 0;
  let sum3 = 0;
  let tokens = 0;
  for (const { mask, logprobs, reference } of sequences) {
    for (let index = 0; index < mask.length; index += 1) {
      if (mask[index] !== 1) continue;
      sum1 += k1(logprobs[index] ?? 0, reference[index] ?? 0);
      sum3 += k3(logprobs[index] ?? 0, reference[index] ?? 0);
      tokens += 1;
    }
  }
  return tokens === 0 ? null : { k1: sum1 / tokens, k3: sum3 / tokens, tokens };
}
