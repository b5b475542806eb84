/** Credit by turn: hand-computed advantages, tasks without milestones to the bit as before, and the tokens of an engine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Coefficients, PolicyTrainer } from "../core/policy-backend.ts";
import type { TokenSegment } from "../core/trajectory.ts";
import { embeddedBackend } from "../policy/embedded/backend.ts";
import { charsTokenizer } from "../policy/tokenizer.ts";
import { systemRuntime } from "../runtime/system.ts";
import { GRPO_DEFAULTS, grpoAdvantages } from "../trainer/algorithm/grpo.ts";
import { batchId } from "../trainer/batch.ts";
import { createTrainer } from "../trainer/train-step.ts";
import { collectGroups, type FinishedMember, type Trains } from "./collector.ts";
import { turnAdvantages } from "./turn-credit.ts";

const centre = grpoAdvantages({ divideByStd: false });

/** A prompt of one token, then two sampled tokens in each of two turns with an observation between. */
const segment: TokenSegment = {
  ids: Int32Array.of(0, 1, 2, 0, 3, 4),
  mask: Uint8Array.of(0, 1, 1, 0, 1, 1),
  logprobs: Float32Array.of(0, -1, -1, 0, -1, -1),
  policyVersions: new Int32Array(6),
  turns: Int32Array.of(0, 1, 1, 1, 2, 2),
  temperature: 1,
};

interface Change {
  readonly trains?: Trains;
  readonly segment?: TokenSegment;
}

function member(index: number, reward: number, turnRewards: readonly number[], change: Change = {}): FinishedMember {
  const group = { groupId: "g", groupNo: 1, member: index, policyVersion: 0, trains: "always", segment } as const;
  return { ...group, episodeId: `e-${index}`, reward, turnRewards, ...change };
}

test("a turn stands against the members that reached it, and one that stands alone against whole episodes", () => {
  const members = [
    { reward: 1, turnRewards: [0.2, 0, 0] },
    { reward: 0, turnRewards: [0, 0] },
    { reward: 0.5, turnRewards: [0] },
  ];
  // G = [1, 0.8, 0.8], [0, 0], [0.5]; means 0.5, 0.4; the third turn: 0.8 - 0.5.
  const credited = turnAdvantages(members, centre);
  const expected = [[0.5, 0.4, 0.3], [-0.5, -0.4], [0]];
  for (const [index, list] of expected.entries()) {
    expect(credited[index]).toHaveLength(list.length);
    for (const [turn, value] of list.entries()) expect(credited[index]?.[turn]).toBeCloseTo(value, 12);
  }
});

test("the turn that reached a milestone is credited with more than the turns after it", () => {
  const { items } = collectGroups([member(0, 1, [0.2, 0]), member(1, 0, [0, 0])], 2, centre);
  expect([...(items[0]?.tokenAdvantages ?? [])]).toEqual([0, 0.5, 0.5, 0, 0.4, 0.4].map(Math.fround));
  expect([...(items[1]?.tokenAdvantages ?? [])]).toEqual([0, -0.5, -0.5, 0, -0.4, -0.4].map(Math.fround));
});

test("a group that earned the same still learns from its milestones", () => {
  const collected = collectGroups([member(0, 0, [0.2, 0]), member(1, 0, [0, 0])], 2, centre);
  expect(collected).toMatchObject({ groupsWithoutVariance: 0, graded: 2 });
  expect(collected.items).toHaveLength(2);
  const none = collectGroups([member(0, 0, [0, 0]), member(1, 0, [0, 0])], 2, centre);
  expect(none).toMatchObject({ groupsWithoutVariance: 1, items: [] });
});

test("what a finding holds back is not raised in any turn, and what is excluded does not train", () => {
  const held = collectGroups([member(0, 1, [0.2, 0], { trains: "unless-rewarded" }), member(1, 0, [0, 0])], 2, centre);
  expect(held.items[0]?.tokenAdvantages?.some((value) => value > 0)).toBe(false);
  const excluded = collectGroups([member(0, 1, [0.2, 0], { trains: "never" }), member(1, 0, [0, 0])], 2, centre);
  expect(excluded.items.map((item) => item.episodeId)).toEqual(["e-1"]);
});

test("without milestones nothing changes, to the bit: not the items, not the name of the batch", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 8 }), (rewards) => {
      const plain = rewards.map((reward, index): FinishedMember => {
        const { turnRewards: _none, ...rest } = member(index, reward, []);
        return rest;
      });
      const zeros = rewards.map((reward, index) => member(index, reward, [0, 0]));
      const [before, after] = [plain, zeros].map((members) => collectGroups(members, rewards.length, centre).items);
      expect(after).toEqual(before);
      expect(after?.some((item) => "tokenAdvantages" in item)).toBe(false);
      expect(batchId(after ?? [])).toBe(batchId(before ?? []));
    }),
  );
});

test("batches that differ in the credit of their turns have different names", () => {
  const named = (turnRewards: readonly number[]) =>
    batchId(collectGroups([member(0, 1, turnRewards), member(1, 0, [0, 0])], 2, centre).items);
  expect(named([0.2, 0])).not.toBe(named([0, 0]));
  expect(named([0.2, 0])).not.toBe(named([0.1, 0]));
});

test("on the embedded engine the tokens of the turn that reached a milestone get the larger push", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sandlot-credit-"));
  const tokenizer = charsTokenizer({ characters: "abcdefgh" });
  const backend = await embeddedBackend({
    shape: "nano",
    tokenizer,
    seed: 3n,
    threads: 1,
    slotsPerThread: 2,
    checkpointFolder: folder,
    runtime: systemRuntime(),
  });
  try {
    if (backend.trainer === null) throw new Error("the embedded backend trains");
    const { trainer } = backend;
    const pushes: Coefficients[] = [];
    const recorded: PolicyTrainer = {
      ...trainer,
      forwardBackward: (sequences, coefficients) => {
        pushes.push(coefficients);
        return trainer.forwardBackward(sequences, coefficients);
      },
    };
    const step = async (turnRewards: readonly number[]) => {
      const segments = await Promise.all([tokenizer.encode("aabhcd"), tokenizer.encode("aefhgh")].map(sampled));
      const collected = collectGroups(
        segments.map((each, index) => member(index, 1 - index, index === 0 ? turnRewards : [0, 0], { segment: each })),
        2,
        centre,
      );
      const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, gradientClip: 1 };
      const parts = { sampler: backend.sampler, reference: () => null, algorithm: GRPO_DEFAULTS, adam };
      const signal = new AbortController().signal;
      const run = createTrainer({ ...parts, trainer: recorded, mismatchMax: 1e-3, klSequencesMax: 0, signal });
      return run.policyStep({ id: batchId(collected.items), step: pushes.length + 1, items: collected.items });
    };
    const sampled = async (ids: Int32Array): Promise<TokenSegment> => {
      const { mask } = segment;
      const [result] = await trainer.forward([{ tokens: ids, mask, logprobs: new Float32Array(6), temperature: 1 }]);
      return { ...segment, ids, logprobs: result?.logprobs ?? new Float32Array(6) };
    };
    const report = await step([0.2, 0]);
    expect(report.metrics["grad_norm"]).toBeGreaterThan(0);
    await step([0, 0]);
    const [byTurn, whole] = pushes.map((push) => [...(push[0] ?? [])]);
    expect(byTurn?.[1]).toBeGreaterThan(byTurn?.[4] ?? 0);
    expect(byTurn?.[4]).toBeGreaterThan(0);
    expect(whole?.[1]).toBe(whole?.[4]);
    expect(byTurn?.[0]).toBe(0);
    expect(byTurn?.[3]).toBe(0);
  } finally {
    await backend.close();
    await rm(folder, { recursive: true });
  }
});
