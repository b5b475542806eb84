/** What an episode earns, and the promises of potential-based shaping, over all inputs. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JudgeResult } from "./judge.ts";
import { type MilestoneReading, type MilestoneSpec, nextReading, type Truth } from "./milestone.ts";
import { rewardOf, shapingRewards, turnReturns } from "./reward.ts";

const share = fc.double({ min: 0, max: 1, noNaN: true });
const truth = fc.constantFrom<Truth>(true, false, "unknown");

function spec(credit: MilestoneSpec["credit"], once: boolean | readonly boolean[] = true): MilestoneSpec {
  const items = (Array.isArray(once) ? once : [once, once, once]).map((latches, index) => ({
    name: `m-${index}`,
    predicate: { kind: "port", port: 80 + index } as const,
    weight: index + 1,
    once: latches,
  }));
  return { items, cap: 0.3, credit };
}

function readings(milestones: MilestoneSpec, turns: readonly (readonly Truth[])[]): MilestoneReading[] {
  const list: MilestoneReading[] = [];
  for (const seen of turns) list.push(nextReading(milestones, list.at(-1) ?? null, seen));
  return list;
}

function judge(score: number, judgeShare = 0.3): JudgeResult {
  return { score, share: judgeShare, items: [], records: [] };
}

const turnsOf3 = fc.array(fc.tuple(truth, truth, truth), { minLength: 1, maxLength: 8 });

test("without milestones and judge an episode earns exactly its total", () => {
  fc.assert(
    fc.property(share, (total) => {
      expect(rewardOf({ total, isVetoed: false, judge: null }, null, null)).toBe(total);
    }),
  );
});

test("under shaping the turn rewards sum to zero and the episode earns T exactly", () => {
  fc.assert(
    fc.property(turnsOf3, share, fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()), (turns, total, once) => {
      const milestones = spec("shaping", once);
      const list = readings(milestones, turns);
      expect(rewardOf({ total, isVetoed: false, judge: null }, milestones, list.at(-1) ?? null)).toBe(total);
      const paid = shapingRewards(list.map((reading) => reading.turnReward));
      expect(paid.reduce((sum, reward) => sum + reward, 0)).toBe(0);
    }),
  );
});

test("partial credit rises with T and with M, is 1 only at T = 1, and milestones alone earn at most the cap", () => {
  const milestones = spec("partial");
  const earned = (total: number, reached: number) =>
    rewardOf({ total, isVetoed: false, judge: null }, milestones, { share: reached });
  fc.assert(
    fc.property(share, share, share, share, (t1, t2, m1, m2) => {
      const [low, high] = [Math.min(t1, t2), Math.max(t1, t2)];
      const [few, many] = [Math.min(m1, m2), Math.max(m1, m2)];
      expect(earned(high, few)).toBeGreaterThanOrEqual(earned(low, few) - 1e-12);
      expect(earned(low, many)).toBeGreaterThanOrEqual(earned(low, few));
      expect(earned(0, many)).toBeLessThanOrEqual(milestones.cap);
      if (low < 1 - 1e-9) expect(earned(low, many)).toBeLessThan(1);
    }),
  );
  expect(earned(1, 0)).toBe(1);
  expect(earned(0.5, 1)).toBeCloseTo(0.65, 12);
});

test("nothing is earned after damage: not by milestones, not by the judge", () => {
  fc.assert(
    fc.property(share, share, share, (total, reached, score) => {
      const verdict = { total, isVetoed: true, judge: judge(score) };
      expect(rewardOf(verdict, spec("partial"), { share: reached })).toBe(0);
    }),
  );
});

test("a judge is paid its share beside code, and nothing where code found nothing", () => {
  expect(rewardOf({ total: 0.5, isVetoed: false, judge: judge(1) }, null, null)).toBeCloseTo(0.65, 12);
  expect(rewardOf({ total: 1, isVetoed: false, judge: judge(0) }, null, null)).toBeCloseTo(0.7, 12);
  expect(rewardOf({ total: 0, isVetoed: false, judge: judge(1) }, null, null)).toBe(0);
  expect(rewardOf({ total: 0, isVetoed: false, judge: judge(1) }, spec("partial"), { share: 1 })).toBeCloseTo(0.21, 12);
});

test("what latches is paid once, in whatever order and however often it is undone and done again", () => {
  fc.assert(
    fc.property(turnsOf3, (turns) => {
      const list = readings(spec("shaping"), turns);
      for (const reading of list) expect(reading.turnReward).toBeGreaterThanOrEqual(0);
      const reached = [0, 1, 2].filter((item) => turns.some((seen) => seen[item] === true));
      const weight = reached.reduce((sum, item) => sum + item + 1, 0);
      expect(list.at(-1)?.share).toBeCloseTo(weight / 6, 12);
    }),
  );
});

test("undoing and doing again what does not latch pays nothing over the loop", () => {
  const list = readings(spec("shaping", [false]), [[true], [false], [true], [false], [true]]);
  const rewards = list.map((reading) => reading.turnReward);
  expect(rewards).toEqual([0.3, -0.3, 0.3, -0.3, 0.3]);
  expect(rewards.slice(1, 3).reduce((sum, reward) => sum + reward, 0)).toBe(0);
});

test("an unknown predicate keeps what it counted before, and counts nothing before it was ever seen", () => {
  const list = readings(spec("shaping", [false]), [["unknown"], [true], ["unknown"], [false], ["unknown"]]);
  expect(list.map((reading) => reading.share)).toEqual([0, 1, 1, 0, 0]);
});

test("under partial credit no turn is paid: the end is", () => {
  expect(readings(spec("partial"), [[true, true, true]])[0]).toMatchObject({ share: 1, turnReward: 0 });
});

test("the return of a turn is the reward and all shaping rewards from it on", () => {
  fc.assert(
    fc.property(turnsOf3, share, (turns, reward) => {
      const rewards = readings(spec("shaping"), turns).map((reading) => reading.turnReward);
      const paid = shapingRewards(rewards);
      for (const [turn, toGo] of turnReturns(reward, rewards).entries()) {
        const rest = paid.slice(turn).reduce((sum, each) => sum + each, 0);
        expect(toGo).toBeCloseTo(reward + rest, 12);
      }
    }),
  );
  expect(turnReturns(1, [0, 0.2, 0])).toEqual([1, 1, 0.8]);
});
