/**
 * Group relative policy optimization (Shao et al. 2024, arXiv 2402.03300) with the asymmetric clip of DAPO (Yu et al.
 * 2025, arXiv 2503.14476). Loss per token: -min(r·A, clip(r, 1 - low, 1 + high)·A) / D with r = exp(l - l0); hence
 * the coefficient r·A / D where the clip does not bind and 0 where it does. Sampled by the current weights, r is 1.
 */
import { Failure } from "../../core/errors.ts";
import type { Coefficients, TrainSequence } from "../../core/policy-backend.ts";
import type { AdvantageEstimator } from "../../core/training.ts";
import { type Aggregation, tokenWeights } from "../aggregate.ts";
import { klCoefficient } from "../kl.ts";

export interface GrpoOptions {
  readonly aggregation: Aggregation;
  /** Tokens; only `seq-mean-token-sum-norm` reads it. */
  readonly lengthMax: number | null;
  /** The ratio may fall to 1 - clipLow where the advantage is negative. */
  readonly clipLow: number;
  /** The ratio may rise to 1 + clipHigh where the advantage is positive. */
  readonly clipHigh: number;
  /** Strength of the KL term in the loss; 0 leaves it out. */
  readonly klBeta: number;
}

export const GRPO_DEFAULTS: GrpoOptions = {
  aggregation: "token-mean",
  lengthMax: null,
  clipLow: 0.2,
  clipHigh: 0.28,
  klBeta: 0,
};

const STD_FLOOR = 1e-6;

/**
 * Reward against the mean of the group's graded members. With `divideByStd`, divided by their sample standard
 * deviation + 1e-6, as first published; that weighs nearly solved and nearly hopeless tasks most. Equal rewards give
 * exactly 0.
 */
export function grpoAdvantages(options: { readonly divideByStd: boolean }): AdvantageEstimator {
  return (rewards) => {
    if (rewards.every((reward) => reward === rewards[0])) return rewards.map(() => 0);
    const mean = meanOf(rewards);
    const scale = options.divideByStd ? sampleStd(rewards) + STD_FLOOR : 1;
    return rewards.map((reward) => (reward - mean) / scale);
  };
}

/** Population of size 1 has spread 0. */
export function sampleStd(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = meanOf(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export interface GrpoItem {
  readonly episodeId: string;
  readonly advantage: number;
  /** Of each token, where they differ; absent where `advantage` is that of all of them. */
  readonly tokenAdvantages?: Float32Array;
  /** Its `logprobs` are l0, those it was sampled with. */
  readonly sequence: TrainSequence;
  /** l, under the current weights; null when those are the weights it was sampled with. */
  readonly current: Float32Array | null;
  /** Under the reference; needed when `klBeta` is not 0. */
  readonly reference: Float32Array | null;
}

export interface GrpoLoss {
  /** In order of the items. */
  readonly coefficients: Coefficients;
  /** The value of the surrogate; near 0 by construction. */
  readonly loss: number;
  readonly trainedTokens: number;
  /** Tokens the clip took out of the gradient, by side. */
  readonly clippedLow: number;
  readonly clippedHigh: number;
}

/** Coefficients of the whole optimizer batch at once. Throws `config_invalid` when a KL term lacks its reference. */
export function grpoLoss(items: readonly GrpoItem[], options: GrpoOptions): GrpoLoss {
  const weights = tokenWeights(
    items.map(({ episodeId, sequence }) => ({ episodeId, mask: sequence.mask })),
    options.aggregation,
    options.lengthMax,
  );
  const sums = { loss: 0, tokens: 0, low: 0, high: 0 };
  const coefficients = items.map((item, index) => itemCoefficients(item, weights[index] ?? 0, options, sums));
  return {
    coefficients,
    loss: sums.loss,
    trainedTokens: sums.tokens,
    clippedLow: sums.low,
    clippedHigh: sums.high,
  };
}

function itemCoefficients(
  item: GrpoItem,
  weight: number,
  options: GrpoOptions,
  sums: { loss: number; tokens: number; low: number; high: number },
): Float32Array {
  const { sequence, current, reference } = item;
  if (options.klBeta !== 0 && reference === null) {
    throw new Failure("config_invalid", "klBeta is set but there is no reference snapshot: set klBeta = 0 or name one");
  }
  return Float32Array.from(sequence.mask, (bit, index) => {
    if (bit !== 1) return 0;
    const advantage = item.tokenAdvantages?.[index] ?? item.advantage;
    const sampled = sequence.logprobs[index] ?? 0;
    const logprob = current?.[index] ?? sampled;
    const ratio = Math.exp(logprob - sampled);
    const clippedRatio = Math.min(1 + options.clipHigh, Math.max(1 - options.clipLow, ratio));
    sums.tokens += 1;
    sums.loss -= Math.min(ratio * advantage, clippedRatio * advantage) * weight;
    const isHigh = advantage > 0 && ratio > 1 + options.clipHigh;
    const isLow = advantage < 0 && ratio < 1 - options.clipLow;
    if (isHigh) sums.high += 1;
    if (isLow) sums.low += 1;
    const gain = isHigh || isLow ? 0 : ratio * advantage * weight;
    if (options.klBeta === 0) return gain;
    return gain + klCoefficient(logprob, reference?.[index] ?? 0, options.klBeta, weight);
  });
}
