import fc from "fast-check";
import { expect, test } from "vitest";
import type { Aggregation } from "../aggregate.ts";
import { GRPO_DEFAULTS, type GrpoItem, grpoAdvantages, grpoLoss, sampleStd } from "./grpo.ts";

const plain = grpoAdvantages({ divideByStd: false });
const divided = grpoAdvantages({ divideByStd: true });
const rewards = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 16 });

test("an advantage is the reward against the mean of the group", () => {
  expect(plain([1, 0, 0, 0])).toEqual([0.75, -0.25, -0.25, -0.25]);
  expect(sampleStd([1, 0, 0, 0])).toBeCloseTo(0.5, 12);
  expect(divided([1, 0, 0, 0])[0]).toBeCloseTo(0.75 / (0.5 + 1e-6), 12);
});

test("advantages of a group sum to zero, whatever the order its members arrive in", () => {
  fc.assert(
    fc.property(rewards, fc.boolean(), (group, divideByStd) => {
      const estimate = grpoAdvantages({ divideByStd });
      const advantages = estimate(group);
      expect(Math.abs(advantages.reduce((sum, advantage) => sum + advantage, 0))).toBeLessThan(1e-6);
      const reversed = [...estimate([...group].reverse())].reverse();
      for (const [index, advantage] of advantages.entries()) expect(reversed[index]).toBeCloseTo(advantage, 9);
    }),
  );
});

test("a group whose members all earned the same gives no coefficient at all", () => {
  for (const estimate of [plain, divided]) expect(estimate([0.1, 0.1, 0.1])).toEqual([0, 0, 0]);
  const loss = grpoLoss([item({ advantage: 0, current: [0, -0.1, -3] })], GRPO_DEFAULTS);
  expect(loss.coefficients).toEqual([Float32Array.of(0, 0, 0)]);
});

test("a member that failed is in no baseline: the others stand as if it had never been", () => {
  const graded = [{ reward: 1 }, { reward: null }, { reward: 0.5 }].flatMap(({ reward }) => reward ?? []);
  expect(plain(graded)).toEqual([0.25, -0.25]);
});

test.each<[Aggregation, number]>([
  ["token-mean", 0.5 / 3],
  ["seq-mean-token-mean", 0.5 / 4],
  ["seq-mean-token-sum", 0.5 / 2],
  ["seq-mean-token-sum-norm", 0.5 / 20],
  ["sum", 0.5],
])("sampled by the current weights, %s gives each token its advantage over D", (aggregation, coefficient) => {
  const batch = [
    item({ advantage: 0.5 }),
    { ...item({ episodeId: "b", advantage: -0.5 }), sequence: sequence([0, -1], [0, 1]) },
  ];
  const { coefficients, loss } = grpoLoss(batch, { ...GRPO_DEFAULTS, aggregation, lengthMax: 10 });
  expect(coefficients[0]?.[0]).toBe(0);
  expect(coefficients[0]?.[1]).toBeCloseTo(coefficient, 7);
  expect(coefficients[0]?.[2]).toBeCloseTo(coefficient, 7);
  expect(Math.sign(coefficients[1]?.[1] ?? 0)).toBe(-1);
  expect(Number.isFinite(loss)).toBe(true);
});

test("an observation's token has coefficient 0 whatever its log-probabilities are", () => {
  const observed = { ...item({ advantage: 1 }), sequence: sequence([0, -7, -1], [0, 0, 1]) };
  expect(grpoLoss([observed], GRPO_DEFAULTS).coefficients[0]?.[1]).toBe(0);
});

test.each([
  { advantage: 1, ratio: 1.1, keeps: true, name: "inside the clip" },
  { advantage: 1, ratio: 1.27, keeps: true, name: "a good token below 1.28" },
  { advantage: 1, ratio: 1.29, keeps: false, name: "a good token above 1.28" },
  { advantage: 1, ratio: 0.5, keeps: true, name: "a good token that fell" },
  { advantage: -1, ratio: 0.81, keeps: true, name: "a bad token above 0.8" },
  { advantage: -1, ratio: 0.79, keeps: false, name: "a bad token below 0.8" },
  { advantage: -1, ratio: 2, keeps: true, name: "a bad token that rose" },
])("the clip: $name", ({ advantage, ratio, keeps }) => {
  const moved = item({ advantage, current: [0, -1 + Math.log(ratio), -2] });
  const result = grpoLoss([moved], { ...GRPO_DEFAULTS, aggregation: "sum" });
  expect(result.coefficients[0]?.[1]).toBeCloseTo(keeps ? ratio * advantage : 0, 5);
  expect(result.clippedLow + result.clippedHigh).toBe(keeps ? 0 : 1);
});

test("the coefficient is the negative derivative of the loss", () => {
  fc.assert(
    fc.property(
      fc.double({ min: -2, max: 2, noNaN: true }),
      fc.double({ min: -1.5, max: -0.5, noNaN: true }),
      (advantage, logprob) => {
        const ratio = Math.exp(logprob + 1);
        fc.pre(Math.abs(ratio - 0.8) > 1e-3 && Math.abs(ratio - 1.28) > 1e-3);
        const lossAt = (value: number) => grpoLoss([item64(advantage, value)], GRPO_DEFAULTS).loss;
        const step = 2 ** -12;
        const slope = (lossAt(logprob + step) - lossAt(logprob - step)) / (2 * step);
        const coefficient = grpoLoss([item64(advantage, logprob)], GRPO_DEFAULTS).coefficients[0]?.[1] ?? 0;
        expect(coefficient).toBeCloseTo(-slope, 2);
      },
    ),
  );
});

test("a KL term changes the coefficients and asks for its reference", () => {
  const pulled = item({ advantage: 0, current: [0, -1, -2], reference: [0, -2, -2] });
  const { coefficients } = grpoLoss([pulled], { ...GRPO_DEFAULTS, aggregation: "sum", klBeta: 0.1 });
  expect(coefficients[0]?.[1]).toBeCloseTo(-0.1, 6);
  expect(() => grpoLoss([item({ advantage: 0 })], { ...GRPO_DEFAULTS, klBeta: 0.1 })).toThrow(/reference/);
});

function sequence(logprobs: readonly number[], mask: readonly number[]): GrpoItem["sequence"] {
  return {
    tokens: Int32Array.from(logprobs.keys()),
    mask: Uint8Array.from(mask),
    logprobs: Float32Array.from(logprobs),
    temperature: 1,
  };
}

/** Three tokens, the last two trained, sampled with log-probabilities -1 and -2. */
function item(input: {
  episodeId?: string;
  advantage: number;
  current?: readonly number[];
  reference?: readonly number[];
}): GrpoItem {
  return {
    episodeId: input.episodeId ?? "a",
    advantage: input.advantage,
    sequence: sequence([0, -1, -2], [0, 1, 1]),
    current: input.current === undefined ? null : Float32Array.from(input.current),
    reference: input.reference === undefined ? null : Float32Array.from(input.reference),
  };
}

/** One trained token, sampled with log-probability -1, now at `logprob`. */
function item64(advantage: number, logprob: number): GrpoItem {
  return { ...item({ advantage, current: [0, logprob] }), sequence: sequence([0, -1], [0, 1]) };
}
