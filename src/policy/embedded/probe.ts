/**
 * The start-up check of the engine: what the sampler reports for a few tokens must be what the trainer computes for
 * them. It trains nothing and leaves no gradient, so it must not run between `forwardBackward` and `optimStep`.
 */
import { Failure } from "../../core/errors.ts";
import type { Tokenizer } from "../../core/policy.ts";
import type { PolicySampler, PolicyTrainer, TrainSequence } from "../../core/policy-backend.ts";
import type { SnapshotShelf } from "./snapshots.ts";

/** Largest difference between a sampled and a recomputed log-probability, nats. */
const LOGPROB_DIFFERENCE_MAX = 1e-4;
/** No run uses it: versions count from 0. */
const PROBE_VERSION = -1;

export interface ProbeOptions {
  readonly sampler: PolicySampler;
  readonly trainer: Pick<PolicyTrainer, "forward" | "forwardBackward" | "discardGradient">;
  readonly shelf: SnapshotShelf;
  readonly tokenizer: Tokenizer;
  readonly contextMax: number;
}

/** Throws `policy_logprob_missing` or `policy_mismatch`, naming the remedy. */
export async function probeEngine(options: ProbeOptions): Promise<void> {
  const { sampler, trainer, shelf, tokenizer, contextMax } = options;
  const signal = new AbortController().signal;
  const promptIds = Int32Array.of(tokenizer.special["<bos>"]);
  const tokensMax = Math.min(8, contextMax - 1);
  const snapshot = await shelf.take(PROBE_VERSION);
  const request = { promptIds, tokensMax, stopIds: [], temperature: 1, seed: 1n };
  const [sample] = await sampler.sample(snapshot, [request], signal);
  shelf.drop(snapshot);
  if (sample === undefined || sample.ids.length !== tokensMax || sample.logprobs.length !== tokensMax) {
    throw new Failure("policy_logprob_missing", "The engine's probe did not get one log-probability for each token.");
  }
  const sequence: TrainSequence = {
    tokens: Int32Array.of(...promptIds, ...sample.ids),
    mask: Uint8Array.of(0, ...sample.ids.map(() => 1)),
    logprobs: Float32Array.of(0, ...sample.logprobs),
    temperature: 1,
  };
  const zero = new Float32Array(sequence.tokens.length);
  const results = [...(await trainer.forward([sequence])), ...(await trainer.forwardBackward([sequence], [zero]))];
  await trainer.discardGradient();
  for (const { logprobs } of results) {
    const difference = logprobs.reduce(
      (max, value, at) => Math.max(max, Math.abs(value - (sequence.logprobs[at] ?? 0))),
      0,
    );
    if (!(difference < LOGPROB_DIFFERENCE_MAX)) {
      throw new Failure(
        "policy_mismatch",
        `The engine's sampler and trainer differ by ${difference} nats on the same tokens. Remove the native cache and ` +
          "build again; set SANDLOT_ENGINE_KERNELS=generic if it persists.",
      );
    }
  }
}
