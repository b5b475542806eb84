/**
 * The only place that performs an optimizer step. It turns sequences into coefficients, hands them to the backend, and
 * lets the weights change only when what the backend computed agrees with what was sampled.
 *
 * Synchronous training: a batch was sampled by exactly the current weights, so the log-probabilities recorded with it
 * are the current ones and no extra forward pass is needed. That is checked on every step, before `optimStep`.
 */
import { Failure } from "../core/errors.ts";
import type {
  AdamOptions,
  Coefficients,
  ForwardResult,
  PolicySampler,
  PolicySnapshot,
  PolicyTrainer,
  TrainSequence,
} from "../core/policy-backend.ts";
import { type Batch, type BatchItem, hasGradient, type StepReport, type Trainer } from "../core/training.ts";
import { type GrpoOptions, grpoLoss } from "./algorithm/grpo.ts";
import { sftCoefficients } from "./algorithm/sft.ts";
import { meanKl } from "./kl.ts";
import { batchMetrics, type LogprobDifference, logprobDifference, type Metrics, tokenMean } from "./metrics.ts";

export interface TrainerOptions {
  readonly trainer: PolicyTrainer;
  /** Scores under the reference. */
  readonly sampler: PolicySampler;
  /** The policy the KL is measured against, usually the end of supervised training; null reports no KL. */
  readonly reference: () => PolicySnapshot | null;
  readonly algorithm: GrpoOptions;
  /** `learningRate` is that of policy steps; a supervised step is given its own. */
  readonly adam: AdamOptions;
  /** Largest difference of sampled and recomputed log-probabilities, nats. */
  readonly mismatchMax: number;
  /**
   * Most sequences of a batch whose KL is measured; `kl/num_tokens` says on how many tokens it stands. With a KL term
   * in the loss all are measured.
   */
  readonly klSequencesMax: number;
  readonly signal: AbortSignal;
}

/** The trainer of one run. A step that throws leaves the weights and the gathered gradient as they were before it. */
export function createTrainer(options: TrainerOptions): Trainer {
  let supervisedSteps = 0;
  return {
    async superviseStep(sequences, learningRate) {
      const report = await guarded(options, () => superviseStep(options, sequences, learningRate));
      supervisedSteps += 1;
      return { step: supervisedSteps, metrics: report };
    },
    policyStep: (batch) => guarded(options, () => policyStep(options, batch)),
  };
}

/** Whatever goes wrong before the weights change, the half-gathered gradient is not left for the next step. */
async function guarded<T>(options: TrainerOptions, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    // A backend that is gone cannot discard either; the first error is the one to tell.
    await options.trainer.discardGradient().catch(() => undefined);
    throw error;
  }
}

async function superviseStep(
  { trainer, adam }: TrainerOptions,
  sequences: readonly TrainSequence[],
  learningRate: number,
): Promise<Metrics> {
  const results = await trainer.forwardBackward(sequences, sftCoefficients(sequences));
  const logprob = tokenMean(
    sequences,
    results.map((result) => result.logprobs),
  );
  if (logprob === null) {
    throw new Failure("record_invalid", "a supervised batch has no trained token: every mask is 0");
  }
  requireFinite(logprob, "log-probability");
  const { gradNorm } = await trainer.optimStep({ ...adam, learningRate });
  return {
    loss: -logprob,
    ...entropyMetric(sequences, results),
    grad_norm: gradNorm,
    learning_rate: learningRate,
    num_tokens: sequences.reduce((sum, sequence) => sum + sequence.tokens.length, 0),
  };
}

/**
 * Items without a gradient, whose advantage is 0, are counted in the metrics and in the denominators, but their tokens have coefficient 0
 * and are not sent to the backend. A batch of nothing else takes no step: a zero gradient would still move the weights
 * by the optimizer's momentum.
 */
async function policyStep(options: TrainerOptions, batch: Batch): Promise<StepReport> {
  const { trainer, algorithm, adam } = options;
  requireOneVersion(batch);
  const metrics = batchMetrics(batch.items);
  const sent = algorithm.klBeta === 0 ? batch.items.filter(hasGradient) : batch.items;
  if (sent.length === 0) return { step: batch.step, metrics };

  const references = await referenceLogprobs(options, sent);
  const loss = grpoLoss(
    batch.items.map((item) => ({ ...item, current: null, reference: references.get(item) ?? null })),
    algorithm,
  );
  const sentItems = new Set(sent);
  const coefficients: Coefficients = loss.coefficients.filter((_, index) => {
    const item = batch.items[index];
    return item !== undefined && sentItems.has(item);
  });
  const sequences = sent.map((item) => item.sequence);
  const results = await trainer.forwardBackward(sequences, coefficients);
  const difference = logprobDifference(sequences, results);
  requireAgreement(difference, options.mismatchMax, batch.step);
  requireFinite(loss.loss, "loss");
  const { gradNorm } = await trainer.optimStep(adam);
  return {
    step: batch.step,
    metrics: {
      loss: loss.loss,
      ...metrics,
      ...entropyMetric(sequences, results),
      ...klMetrics(sent, results, references),
      grad_norm: gradNorm,
      learning_rate: adam.learningRate,
      "sampling/sampling_logp_difference/mean": difference.mean,
      "sampling/sampling_logp_difference/max": difference.max,
      "clip_ratio/low_mean": loss.clippedLow / loss.trainedTokens,
      "clip_ratio/high_mean": loss.clippedHigh / loss.trainedTokens,
      "clip_ratio/region_mean": (loss.clippedLow + loss.clippedHigh) / loss.trainedTokens,
    },
  };
}

function requireOneVersion(batch: Batch): void {
  const versions = new Set(batch.items.map((item) => item.policyVersion));
  if (versions.size <= 1) return;
  throw new Failure(
    "policy_mismatch",
    `the batch of step ${batch.step} was sampled by policy versions ${[...versions].join(", ")}: a synchronous step needs one`,
  );
}

function requireAgreement(difference: LogprobDifference, mismatchMax: number, step: number): void {
  requireFinite(difference.max, "log-probability");
  if (difference.max <= mismatchMax) return;
  throw new Failure(
    "policy_mismatch",
    `step ${step} is refused: sampled and recomputed log-probabilities differ by ${difference.max} nats, more than ${mismatchMax}; the batch was not sampled by the current weights, or sampler and trainer disagree`,
  );
}

function requireFinite(value: number, name: string): void {
  if (Number.isFinite(value)) return;
  throw new Failure("policy_not_finite", `a ${name} of this step is ${value}; the weights were left as they were`);
}

/** Under the reference, for the items the KL is measured on. Scores are at temperature 1, so other items have none. */
async function referenceLogprobs(
  { sampler, reference, algorithm, klSequencesMax, signal }: TrainerOptions,
  items: readonly BatchItem[],
): Promise<ReadonlyMap<BatchItem, Float32Array>> {
  const snapshot = reference();
  if (snapshot === null) return new Map();
  const comparable = items.filter((item) => item.sequence.temperature === 1);
  const measured = algorithm.klBeta === 0 ? evenly(comparable, klSequencesMax) : comparable;
  if (measured.length === 0) return new Map();
  const scores = await sampler.score(
    snapshot,
    measured.map((item) => item.sequence.tokens),
    signal,
  );
  return new Map(measured.flatMap((item, index) => (scores[index] === undefined ? [] : [[item, scores[index]]])));
}

/** At most `max` items, spread evenly over the list: neighbours are members of one group. */
function evenly<T>(items: readonly T[], max: number): readonly T[] {
  if (items.length <= max) return items;
  return items.filter(
    (_, index) => Math.floor((index * max) / items.length) !== Math.floor(((index - 1) * max) / items.length),
  );
}

function klMetrics(
  items: readonly BatchItem[],
  results: readonly ForwardResult[],
  references: ReadonlyMap<BatchItem, Float32Array>,
): Metrics {
  const kl = meanKl(
    items.flatMap((item, index) => {
      const reference = references.get(item);
      const logprobs = results[index]?.logprobs;
      return reference === undefined || logprobs === undefined
        ? []
        : [{ mask: item.sequence.mask, logprobs, reference }];
    }),
  );
  return kl === null ? {} : { kl: kl.k3, "kl/k1": kl.k1, "kl/k3": kl.k3, "kl/num_tokens": kl.tokens };
}

function entropyMetric(sequences: readonly TrainSequence[], results: readonly ForwardResult[]): Metrics {
  const entropy = tokenMean(
    sequences,
    results.map((result) => result.entropy),
  );
  return entropy === null ? {} : { entropy };
}
