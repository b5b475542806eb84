import fc from "fast-check";
import { expect, test } from "vitest";
import type { TokenSegment } from "../core/trajectory.ts";
import { collectGroups, type FinishedMember } from "./collector.ts";

const segment: TokenSegment = {
  ids: new Int32Array([1, 2]),
  mask: new Uint8Array([0, 1]),
  logprobs: new Float32Array([0, -1]),
  policyVersions: new Int32Array([0, 0]),
  turns: new Int32Array([0, 1]),
  temperature: 1,
};

function member(groupNo: number, index: number, reward: number | null): FinishedMember {
  return {
    episodeId: `r-${groupNo}-${index}`,
    groupId: `r-g${groupNo}`,
    groupNo,
    member: index,
    reward,
    policyVersion: 0,
    trains: "always",
    segment,
  };
}

const centre = (rewards: readonly number[]): number[] => {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return rewards.map((reward) => reward - mean);
};

test("a failed member changes neither the baseline nor the batch", () => {
  const collected = collectGroups([member(1, 0, 1), member(1, 1, null), member(1, 2, 0)], 3, centre);
  expect(collected.items.map((item) => item.advantage)).toEqual([0.5, -0.5]);
  expect(collected.reward).toBe(0.5);
});

test("a quarantined member stays in the baseline and trains only where it is not rewarded", () => {
  const held = { trains: "unless-rewarded" } as const;
  const rewarded = collectGroups([{ ...member(1, 0, 1), ...held }, member(1, 1, 0), member(1, 2, 0)], 3, centre);
  expect(rewarded.items.map(({ episodeId }) => episodeId)).toEqual(["r-1-1", "r-1-2"]);
  expect(rewarded.items.map(({ advantage }) => advantage)).toEqual([-1 / 3, -1 / 3]);
  const punished = collectGroups([member(1, 0, 1), { ...member(1, 1, 0), ...held }], 2, centre);
  expect(punished.items.map(({ advantage }) => advantage)).toEqual([0.5, -0.5]);
});

test("an excluded member stays in the baseline and never trains", () => {
  const collected = collectGroups([member(1, 0, 1), { ...member(1, 1, 0), trains: "never" }], 2, centre);
  expect(collected.items.map(({ advantage }) => advantage)).toEqual([0.5]);
});

test("a group whose members all earned the same is counted and left out", () => {
  const collected = collectGroups([member(1, 0, 1), member(1, 1, 1), member(2, 0, 0), member(2, 1, 1)], 2, centre);
  expect(collected).toMatchObject({ groupsWithoutVariance: 1, groups: 2, reward: 0.75 });
  expect(collected.items.every((item) => item.groupId === "r-g2")).toBe(true);
});

test("a group with fewer than half of its members graded is abandoned", () => {
  const collected = collectGroups([member(1, 0, 1), member(1, 1, 0), member(1, 2, null)], 8, centre);
  expect(collected).toMatchObject({ groupsAbandoned: 1, items: [] });
});

test("the batch does not depend on the order in which episodes ended", () => {
  const members = [1, 2, 3].flatMap((group) => [0, 1, 2, 3].map((index) => member(group, index, (group * index) % 3)));
  fc.assert(
    fc.property(fc.shuffledSubarray(members, { minLength: members.length }), (shuffled) => {
      expect(collectGroups(shuffled, 4, centre)).toEqual(collectGroups(members, 4, centre));
    }),
  );
});
