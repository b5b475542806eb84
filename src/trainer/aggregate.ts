/**
 * Aggregation: what one trained token weighs in the loss, 1/D of the chosen mode. B counts trajectories and n all
 * trained tokens of a trajectory, so that one which forks into several sequences keeps its weight. D is taken from the
 * whole optimizer batch before anything is cut into micro-batches, so no cut can change a gradient.
 */
import { Failure } from "../core/errors.ts";

export const AGGREGATIONS = [
  "token-mean",
  "seq-mean-token-mean",
  "seq-mean-token-sum",
  "seq-mean-token-sum-norm",
  "sum",
] as const;

/**
 * `token-mean` D = N, the trained tokens of the batch. `seq-mean-token-mean` D = B·n (GRPO as first published; has a
 * length bias). `seq-mean-token-sum` D = B. `seq-mean-token-sum-norm` D = B·lengthMax (Dr. GRPO). `sum` D = 1 (Tinker).
 */
export type Aggregation = (typeof AGGREGATIONS)[number];

export interface AggregatedItem {
  /** Items of one trajectory share it. */
  readonly episodeId: string;
  readonly mask: Uint8Array;
}

/** Tokens with mask 1. */
export function trainedTokens(mask: Uint8Array): number {
  let count = 0;
  for (const bit of mask) count += bit;
  return count;
}

/**
 * The weight 1/D of each item's trained tokens, in order of `items`; 0 for an item without trained tokens.
 * `lengthMax` is needed by `seq-mean-token-sum-norm` alone. Throws `config_invalid` when it is missing there.
 */
export function tokenWeights(items: readonly AggregatedItem[], mode: Aggregation, lengthMax: number | null): number[] {
  const tokensOf = new Map<string, number>();
  let batchTokens = 0;
  for (const item of items) {
    const count = trainedTokens(item.mask);
    batchTokens += count;
    tokensOf.set(item.episodeId, (tokensOf.get(item.episodeId) ?? 0) + count);
  }
  const trajectories = tokensOf.size;
  return items.map((item) => {
    const ownTokens = tokensOf.get(item.episodeId) ?? 0;
    if (ownTokens === 0) return 0;
    return 1 / denominator(mode, { batchTokens, trajectories, ownTokens, lengthMax });
  });
}

interface Counts {
  readonly batchTokens: number;
  readonly trajectories: number;
  readonly ownTokens: number;
  readonly lengthMax: number | null;
}

function denominator(mode: Aggregation, counts: Counts): number {
  switch (mode) {
    case "token-mean":
      return counts.batchTokens;
    case "seq-mean-token-mean":
      return counts.trajectories * counts.ownTokens;
    case "seq-mean-token-sum":
      return counts.trajectories;
    case "seq-mean-token-sum-norm":
      if (counts.lengthMax === null || !(counts.lengthMax > 0)) {
        throw new Failure(
          "config_invalid",
          `aggregation seq-mean-token-sum-norm needs lengthMax > 0, got ${counts.lengthMax}: set it to the most tokens an episode may sample`,
        );
      }
      return counts.trajectories * counts.lengthMax;
    case "sum":
      return 1;
  }
}
