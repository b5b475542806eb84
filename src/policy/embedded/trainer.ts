/**
 * The trainer of the embedded engine: forward, gradient by coefficients, AdamW. A result that is not finite stops the
 * step before it touches the weights.
 */
import { Failure } from "../../core/errors.ts";
import type {
  AdamOptions,
  Coefficients,
  ForwardResult,
  PolicyTrainer,
  TrainSequence,
} from "../../core/policy-backend.ts";
import { type Bounds, checkSequences } from "./check.ts";
import type { Engine } from "./engine.ts";
import { planBatch, splitBatch } from "./plan.ts";

type StepTrainer = Pick<PolicyTrainer, "forward" | "forwardBackward" | "optimStep" | "discardGradient">;

export function embeddedTrainer(engine: Engine, bounds: Bounds): StepTrainer {
  return {
    forward: (sequences) => runBatch(engine, bounds, sequences, null),
    forwardBackward: (sequences, coefficients) => runBatch(engine, bounds, sequences, coefficients),
    optimStep: async (options) => {
      checkAdam(options);
      return engine.use(async (addon, handle) => {
        const gradNorm = await addon.optimize(handle, { ...options });
        if (!Number.isFinite(gradNorm)) {
          throw new Failure(
            "policy_not_finite",
            `The gradient's norm is ${gradNorm}. The weights are as before the step; look at the batch's coefficients, or ` +
              "resume from a checkpoint with a lower learning rate.",
          );
        }
        return { gradNorm, learningRate: options.learningRate, step: addon.describe(handle).adamStep };
      });
    },
    discardGradient: async () => {
      await engine.use((addon, handle) => addon.discard(handle, {}));
    },
  };
}

async function runBatch(
  engine: Engine,
  bounds: Bounds,
  sequences: readonly TrainSequence[],
  coefficients: Coefficients | null,
): Promise<ForwardResult[]> {
  checkSequences(sequences, coefficients, bounds);
  const plan = planBatch(sequences, engine.config.threads, engine.config.rows);
  const logprobs = new Float32Array(plan.tokens.length);
  const entropy = new Float32Array(plan.tokens.length);
  // Greedy samples carry their log-probabilities at temperature 1.
  const temperatures = Float32Array.from(sequences, ({ temperature }) => (temperature === 0 ? 1 : temperature));
  const flat = coefficients === null ? null : new Float32Array(plan.tokens.length);
  coefficients?.forEach((own, index) => {
    flat?.set(own, plan.offsets[index] ?? 0);
  });
  await engine.use((addon, handle) =>
    addon.train(handle, { ...plan, coefficients: flat, temperatures, logprobs, entropy, weights: -1 }),
  );
  const wrong = logprobs.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0) {
    throw new Failure(
      "policy_not_finite",
      `A log-probability of the batch is ${logprobs[wrong]}. Nothing was updated; load an earlier checkpoint.`,
    );
  }
  const entropies = splitBatch(plan, entropy);
  return splitBatch(plan, logprobs).map((own, index) => ({
    logprobs: own,
    entropy: entropies[index] ?? new Float32Array(own.length),
  }));
}

function checkAdam(options: AdamOptions): void {
  const { learningRate, beta1, beta2, epsilon, weightDecay, gradientClip } = options;
  const limits: readonly (readonly [string, number, boolean])[] = [
    ["learningRate", learningRate, learningRate >= 0],
    ["beta1", beta1, beta1 >= 0 && beta1 < 1],
    ["beta2", beta2, beta2 >= 0 && beta2 < 1],
    ["epsilon", epsilon, epsilon > 0],
    ["weightDecay", weightDecay, weightDecay >= 0],
    ["gradientClip", gradientClip, gradientClip >= 0],
  ];
  for (const [name, value, isInside] of limits) {
    if (!Number.isFinite(value) || !isInside) {
      throw new Failure("request_invalid", `Adam's ${name} is ${value}, outside its range; see AdamOptions.`);
    }
  }
}
