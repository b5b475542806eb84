import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import type {
  AdamOptions,
  PolicySampler,
  PolicySnapshot,
  PolicyTrainer,
  TrainSequence,
} from "../core/policy-backend.ts";
import type { Batch, BatchItem, Trainer } from "../core/training.ts";
import { GRPO_DEFAULTS, type GrpoOptions } from "./algorithm/grpo.ts";
import { sftCoefficients } from "./algorithm/sft.ts";
import { batchId } from "./batch.ts";
import { createTrainer } from "./train-step.ts";

const VOCABULARY = 3;
const ADAM: AdamOptions = {
  learningRate: 0.5,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  gradientClip: 1,
};

let policy: ReturnType<typeof tablePolicy>;
beforeEach(() => {
  policy = tablePolicy();
});

test("a policy step makes what earned more likelier, and reports what it did", async () => {
  const before = policy.logprob(0);
  const report = await trainerOf().policyStep(createBatch(4, group([1, 0])));
  expect(policy.logprob(0)).toBeGreaterThan(before);
  expect(report.step).toBe(4);
  expect(report.metrics).toMatchObject({ reward: 0.5, frac_reward_zero_std: 0, learning_rate: 0.5, num_tokens: 4 });
  expect(report.metrics["loss"]).toBeCloseTo(0, 12);
  expect(report.metrics["entropy"]).toBeCloseTo(Math.log(VOCABULARY), 5);
  expect(report.metrics["grad_norm"]).toBeGreaterThan(0);
  expect(report.metrics["sampling/sampling_logp_difference/max"]).toBeLessThan(1e-6);
  expect(report.metrics["clip_ratio/region_mean"]).toBe(0);
});

test("a batch that other weights sampled is refused before anything changes", async () => {
  const batch = createBatch(1, group([1, 0], -0.2));
  await expect(trainerOf().policyStep(batch)).rejects.toMatchObject({ code: "policy_mismatch" });
  expect(policy.steps()).toBe(0);
  expect(policy.gradient()).toEqual([0, 0, 0]);
});

test("log-probabilities that are not numbers stop the step and leave the weights", async () => {
  policy.poison();
  const batch = createBatch(1, group([1, 0]));
  await expect(trainerOf().policyStep(batch)).rejects.toMatchObject({ code: "policy_not_finite" });
  await expect(trainerOf().superviseStep([demonstration(1)], 0.1)).rejects.toMatchObject({ code: "policy_not_finite" });
  expect(policy.steps()).toBe(0);
  expect(policy.gradient()).toEqual([0, 0, 0]);
});

test("a batch of two policy versions is refused", async () => {
  const [first, second] = group([1, 0]);
  if (first === undefined || second === undefined) throw new Error("the group has two members");
  const batch = createBatch(1, [first, { ...second, policyVersion: 8 }]);
  await expect(trainerOf().policyStep(batch)).rejects.toThrow(/7, 8/);
});

test("groups whose members all earned the same are counted and take no step, not even one of momentum", async () => {
  const trainer = trainerOf();
  await trainer.policyStep(createBatch(1, group([1, 0])));
  const before = policy.logprob(0);
  const report = await trainer.policyStep(createBatch(2, group([1, 1], before)));
  expect(policy.logprob(0)).toBe(before);
  expect(report.metrics).toMatchObject({ frac_reward_zero_std: 1, reward: 1 });
  expect(report.metrics).not.toHaveProperty("grad_norm");
});

test("the divergence from the reference is reported with the number of tokens it stands on", async () => {
  const trainer = trainerOf({ klSequencesMax: 1 });
  const first = await trainer.policyStep(createBatch(1, group([1, 0])));
  expect(first.metrics).toMatchObject({ kl: 0, "kl/k1": 0, "kl/num_tokens": 1 });
  const second = await trainer.policyStep(createBatch(2, group([1, 0], policy.logprob(0), policy.logprob(1))));
  expect(second.metrics["kl/k3"]).toBeGreaterThan(0);
  expect(second.metrics["kl"]).toBe(second.metrics["kl/k3"]);
});

test("without a reference no divergence is claimed", async () => {
  const report = await trainerOf({ hasReference: false }).policyStep(createBatch(1, group([1, 0])));
  expect(report.metrics).not.toHaveProperty("kl");
});

test("a KL term in the loss holds the policy nearer to its reference", async () => {
  const free = await divergenceAfterSteps({ klBeta: 0 });
  policy = tablePolicy();
  const held = await divergenceAfterSteps({ klBeta: 1 });
  expect(held).toBeLessThan(free);
});

test("a supervised step lowers the loss of its demonstrations at the rate it was given", async () => {
  const trainer = trainerOf();
  const first = await trainer.superviseStep([demonstration(1)], 0.3);
  const second = await trainer.superviseStep([demonstration(1)], 0.2);
  expect(first.metrics["loss"]).toBeCloseTo(Math.log(VOCABULARY), 5);
  expect(second.metrics["loss"]).toBeLessThan(first.metrics["loss"] ?? 0);
  expect([first.step, second.step]).toEqual([1, 2]);
  expect(second.metrics["learning_rate"]).toBe(0.2);
});

test("any cut into micro-batches gives the same gradient", async () => {
  const sequences = [demonstration(0), demonstration(1), demonstration(2), demonstration(1)];
  const coefficients = sftCoefficients(sequences);
  await policy.trainer.forwardBackward(sequences, coefficients);
  const whole = policy.gradient();
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: sequences.length }), async (cut) => {
      await policy.trainer.discardGradient();
      await policy.trainer.forwardBackward(sequences.slice(0, cut), coefficients.slice(0, cut));
      await policy.trainer.forwardBackward(sequences.slice(cut), coefficients.slice(cut));
      for (const [token, value] of policy.gradient().entries()) expect(value).toBeCloseTo(whole[token] ?? 0, 12);
    }),
  );
});

test("an order of arrival changes no weight", async () => {
  const items = [...group([1, 0]), ...group([0, 1], undefined, undefined, "h")];
  await trainerOf().policyStep(createBatch(1, items));
  const forward = policy.logprob(0);
  policy = tablePolicy();
  await trainerOf().policyStep(createBatch(1, [...items].reverse()));
  expect(policy.logprob(0)).toBeCloseTo(forward, 12);
});

async function divergenceAfterSteps(algorithm: Partial<GrpoOptions>): Promise<number> {
  const trainer = trainerOf({ algorithm });
  for (let step = 0; step < 8; step += 1) {
    await trainer.policyStep(createBatch(step, group([1, 0], policy.logprob(0), policy.logprob(1))));
  }
  return Math.abs(policy.logprob(0) - Math.log(1 / VOCABULARY));
}

function trainerOf(
  input: { algorithm?: Partial<GrpoOptions>; klSequencesMax?: number; hasReference?: boolean } = {},
): Trainer {
  const reference: PolicySnapshot = { id: "sft", version: 0, sha256: "", tokenizerSha256: "" };
  return createTrainer({
    trainer: policy.trainer,
    sampler: policy.sampler,
    reference: () => (input.hasReference === false ? null : reference),
    algorithm: { ...GRPO_DEFAULTS, ...input.algorithm },
    adam: ADAM,
    mismatchMax: 1e-4,
    klSequencesMax: input.klSequencesMax ?? 64,
    signal: new AbortController().signal,
  });
}

/** Two episodes of one group: the first answered token 0, the second token 1. */
function group(
  rewards: readonly number[],
  first = Math.log(1 / VOCABULARY),
  second = first,
  groupId = "g",
): BatchItem[] {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return rewards.map((reward, index) => ({
    episodeId: `${groupId}${index}`,
    groupId,
    reward,
    advantage: reward - mean,
    policyVersion: 7,
    sequence: { ...demonstration(index), logprobs: Float32Array.of(0, index === 0 ? first : second) },
  }));
}

function createBatch(step: number, items: readonly BatchItem[]): Batch {
  return { id: batchId(items), step, items };
}

function demonstration(token: number): TrainSequence {
  return {
    tokens: Int32Array.of(0, token),
    mask: Uint8Array.of(0, 1),
    logprobs: Float32Array.of(0, 0),
    temperature: 1,
  };
}

/** The smallest true policy: one distribution over three tokens, whatever came before; plain gradient ascent. */
function tablePolicy() {
  let logits = [0, 0, 0];
  let gradient = [0, 0, 0];
  let stepCount = 0;
  const probabilities = (): number[] => {
    const exps = logits.map(Math.exp);
    const total = exps.reduce((sum, value) => sum + value, 0);
    return exps.map((value) => value / total);
  };
  const logprob = (token: number): number => Math.log(probabilities()[token] ?? Number.NaN);
  const forward = (sequence: TrainSequence) => ({
    logprobs: Float32Array.from(sequence.tokens, (token, index) => (index === 0 ? 0 : logprob(token))),
    entropy: Float32Array.from(
      sequence.mask,
      (bit) => bit * probabilities().reduce((sum, p) => sum - p * Math.log(p), 0),
    ),
  });
  const trainer: PolicyTrainer = {
    forward: async (sequences) => sequences.map(forward),
    forwardBackward: async (sequences, coefficients) => {
      for (const [index, { tokens }] of sequences.entries()) {
        for (const [position, coefficient] of (coefficients[index] ?? []).entries()) {
          gradient = gradient.map(
            (sum, token) =>
              sum + coefficient * ((tokens[position] === token ? 1 : 0) - (probabilities()[token] ?? Number.NaN)),
          );
        }
      }
      return sequences.map(forward);
    },
    optimStep: async ({ learningRate }) => {
      const gradNorm = Math.hypot(...gradient);
      logits = logits.map((logit, token) => logit + learningRate * (gradient[token] ?? 0));
      gradient = [0, 0, 0];
      stepCount += 1;
      return { gradNorm, learningRate, step: stepCount };
    },
    discardGradient: async () => {
      gradient = [0, 0, 0];
    },
    snapshot: () => Promise.reject(new Error("a table policy keeps no snapshots")),
    save: () => Promise.reject(new Error("a table policy is not saved")),
    load: () => Promise.reject(new Error("a table policy is not loaded")),
  };
  /** The reference is the policy at its start: uniform. */
  const sampler: PolicySampler = {
    sample: () => Promise.reject(new Error("a table policy is not sampled")),
    score: async (_snapshot, sequences) =>
      sequences.map((ids) =>
        Float32Array.from(ids, (_, index) => (index === 0 ? 0 : Math.fround(-Math.log(VOCABULARY)))),
      ),
  };
  return {
    trainer,
    sampler,
    logprob,
    gradient: () => gradient,
    steps: () => stepCount,
    poison: () => {
      logits = [Number.NaN, 0, 0];
    },
  };
}
