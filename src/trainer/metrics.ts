/**
 * What one step reports, under the names TRL users search for. Each function returns only what its input can answer:
 * a metric without data is absent, never 0.
 */
import type { ForwardResult, TrainSequence } from "../core/policy-backend.ts";
import type { BatchItem } from "../core/training.ts";
import { trainedTokens } from "./aggregate.ts";
import { sampleStd } from "./algorithm/grpo.ts";

export type Metrics = Readonly<Record<string, number>>;

/** Rewards by group, advantages and completion lengths. `reward` is the mean of the group means. */
export function batchMetrics(items: readonly BatchItem[]): Metrics {
  if (items.length === 0) return {};
  const groups = [...Map.groupBy(episodes(items), (episode) => episode.groupId).values()].map((members) =>
    members.map((member) => member.reward),
  );
  const lengths = episodes(items).map((episode) => episode.tokens);
  const advantages = items.map((item) => item.advantage);
  return {
    reward: mean(groups.map(mean)),
    reward_std: mean(groups.map(sampleStd)),
    frac_reward_zero_std: mean(groups.map((rewards) => (rewards.every((reward) => reward === rewards[0]) ? 1 : 0))),
    "advantages/mean": mean(advantages),
    "advantages/min": Math.min(...advantages),
    "advantages/max": Math.max(...advantages),
    "completions/mean_length": mean(lengths),
    "completions/min_length": Math.min(...lengths),
    "completions/max_length": Math.max(...lengths),
    num_tokens: items.reduce((sum, item) => sum + item.sequence.tokens.length, 0),
  };
}

/** One entry for each episode, its sequences joined. */
function episodes(items: readonly BatchItem[]): { groupId: string; reward: number; tokens: number }[] {
  return [...Map.groupBy(items, (item) => item.episodeId).values()].flatMap((parts) => {
    const first = parts[0];
    if (first === undefined) return [];
    const tokens = parts.reduce((sum, part) => sum + trainedTokens(part.sequence.mask), 0);
    return [{ groupId: first.groupId, reward: first.reward, tokens }];
  });
}

export interface LogprobDifference {
  /** Nats, over trained tokens; 0 when there are none. NaN where either side is not finite. */
  readonly max: number;
  readonly mean: number;
  readonly tokens: number;
}

/** How far what the trainer computed is from what the sampler recorded. */
export function logprobDifference(
  sequences: readonly TrainSequence[],
  results: readonly ForwardResult[],
): LogprobDifference {
  let max = 0;
  let sum = 0;
  let tokens = 0;
  for (const [index, sequence] of sequences.entries()) {
    for (const [position, bit] of sequence.mask.entries()) {
      if (bit !== 1) continue;
      const difference = Math.abs(
        (results[index]?.logprobs[position] ?? Number.NaN) - (sequence.logprobs[position] ?? 0),
      );
      if (Number.isNaN(difference)) return { max: Number.NaN, mean: Number.NaN, tokens };
      max = Math.max(max, difference);
      sum += difference;
      tokens += 1;
    }
  }
  return { max, mean: tokens === 0 ? 0 : sum / tokens, tokens };
}

/** Mean over trained tokens of one array of the results; null without trained tokens, NaN as soon as one is not finite. */
export function tokenMean(
  sequences: readonly Pick<TrainSequence, "mask">[],
  values: readonly Float32Array[],
): number | null {
  let sum = 0;
  let tokens = 0;
  for (const [index, { mask }] of sequences.entries()) {
    for (const [position, bit] of mask.entries()) {
      if (bit !== 1) continue;
      sum += values[index]?.[position] ?? Number.NaN;
      tokens += 1;
    }
  }
  if (tokens === 0) return null;
  return Number.isFinite(sum) ? sum / tokens : Number.NaN;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
