/**
 * From score to reward: the one number of an episode, and what each of its turns is credited with. Pure. A veto takes
 * everything; milestones can earn their cap and no more; a judge counts only where code found something to pay for.
 */
import type { MilestoneReading, MilestoneSpec } from "./milestone.ts";
import type { Verdict } from "./verifier.ts";

/**
 * R of an episode, in [0, 1], with T the verdict's total, V whether no veto failed, M the last reading's share, c the
 * cap and j the judge's share:
 *
 *     code = V · T                          without milestones, and under `shaping`
 *     code = V · (T + (1 − T) · c · M)      under `partial`
 *     R    = (1 − j) · code + j · judge     where T > 0, else (1 − j) · code
 *
 * It is 1 only where T is, and what pleases the judge alone earns nothing: a policy that is paid for pleasing it before
 * it solves anything learns to please.
 */
export function rewardOf(
  { total, isVetoed, judge }: Pick<Verdict, "total" | "isVetoed" | "judge">,
  spec: MilestoneSpec | null,
  last: Pick<MilestoneReading, "share"> | null,
): number {
  if (isVetoed) return 0;
  const reached = spec?.credit === "partial" ? spec.cap * (last?.share ?? 0) : 0;
  const code = total + (1 - total) * reached;
  if (judge === null) return clamped(code);
  return clamped((1 - judge.share) * code + (total > 0 ? judge.share * judge.score : 0));
}

function clamped(value: number): number {
  return Math.min(1, Math.max(0, value));
}

/**
 * The shaping rewards F of an episode's turns, from what its readings say: the potential is that of the state, and 0
 * at the end, so the last turn takes back all that stands. They sum to 0, hence the episode's reward is R exactly and
 * the best policy is that of the task without them (Ng, Harada & Russell, ICML 1999, theorem 1, discount 1).
 */
export function shapingRewards(turnRewards: readonly number[]): number[] {
  const before = turnRewards.slice(0, -1);
  if (turnRewards.length === 0) return [];
  const standing = before.reduce((sum, reward) => sum + reward, 0);
  return [...before, standing === 0 ? 0 : -standing];
}

/**
 * G of each turn: what is still to be earned from it on, R and the shaping rewards of this turn and all after it. Since
 * they telescope, it is R less the potential in which the turn began: a turn that reaches a milestone is credited with
 * more than the turns after it, to which the milestone is no merit.
 */
export function turnReturns(reward: number, turnRewards: readonly number[]): number[] {
  let potential = 0;
  return turnRewards.map((turnReward) => {
    const toGo = reward - potential;
    potential += turnReward;
    return toGo;
  });
}
