/** What passes between the loop and the trainer: a batch of graded episodes in, one optimizer step's report out. */
import type { TrainSequence } from "./policy-backend.ts";

/** One trajectory of a batch, with the advantage the collector gave it. */
export interface BatchItem {
  readonly episodeId: string;
  readonly groupId: string;
  readonly reward: number;
  readonly advantage: number;
  /** Of each token, where the turns of the episode are credited apart; absent where `advantage` is that of all of them. */
  readonly tokenAdvantages?: Float32Array;
  readonly policyVersion: number;
  readonly sequence: TrainSequence;
}

/** Whether any of its tokens has an advantage, so that the policy gradient moves by it. */
export function hasGradient(item: Pick<BatchItem, "advantage" | "tokenAdvantages">): boolean {
  return item.tokenAdvantages?.some((advantage) => advantage !== 0) ?? item.advantage !== 0;
}

/** Immutable; `id` is the SHA-256 of its content, or `empty-STEP` where it has none. */
export interface Batch {
  readonly id: string;
  readonly step: number;
  readonly items: readonly BatchItem[];
}

/** Advantages of one group's graded members from their rewards, in order. */
export type AdvantageEstimator = (rewards: readonly number[]) => readonly number[];

/** Metric names as in the catalogue: `loss`, `grad_norm`, `kl`, `entropy`, … An absent metric is not in the map. */
export interface StepReport {
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface Trainer {
  /** One step of supervised training on `batch` sequences; every masked-in token weighs the same. */
  superviseStep(sequences: readonly TrainSequence[], learningRate: number): Promise<StepReport>;
  /**
   * One policy update. Throws `policy_mismatch` before the weights change when sampled and recomputed
   * log-probabilities differ beyond the bound, `policy_not_finite` on NaN.
   */
  policyStep(batch: Batch): Promise<StepReport>;
}
