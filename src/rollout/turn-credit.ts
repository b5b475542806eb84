/**
 * Turn-level credit of a group whose task has milestones (`training.md` 4.7). The return of turn i is the reward and the
 * shaping rewards still to come, G_i = R - (potential in which turn i began); its advantage stands against the members
 * of the group that reached turn i. Without turn rewards every turn of an episode has its one advantage.
 */
import { turnReturns } from "../core/reward.ts";
import type { AdvantageEstimator } from "../core/training.ts";

/** A graded member: its reward, and what each of its turns was paid, from turn 1. */
export interface CreditedMember {
  readonly reward: number;
  readonly turnRewards: readonly number[];
}

/** Whether any turn of any member was paid, so that its turns are credited apart. */
export function isCreditedByTurn(members: readonly Pick<CreditedMember, "turnRewards">[]): boolean {
  return members.some((member) => member.turnRewards.some((reward) => reward !== 0));
}

/**
 * The advantage of each turn of each member, in order. A turn that only one member reached has no group to stand
 * against: it stands against that of the whole episodes.
 */
export function turnAdvantages(members: readonly CreditedMember[], advantages: AdvantageEstimator): number[][] {
  const returns = members.map((member) => turnReturns(member.reward, member.turnRewards));
  const whole = advantages(members.map((member) => member.reward));
  const credited = members.map((): number[] => []);
  const turns = Math.max(0, ...returns.map((list) => list.length));
  for (let turn = 0; turn < turns; turn += 1) {
    const reached = [...returns.entries()].filter(([, list]) => turn < list.length);
    const values = advantages(reached.map(([, list]) => list[turn] ?? 0));
    for (const [position, [index, list]] of reached.entries()) {
      const alone = (whole[index] ?? 0) + (list[turn] ?? 0) - (members[index]?.reward ?? 0);
      credited[index]?.push(reached.length > 1 ? (values[position] ?? 0) : alone);
    }
  }
  return credited;
}

/** One value for each token: the advantage of the turn that sampled it, 0 where none did. `turns` counts from 1. */
export function tokenAdvantages(turns: Int32Array, mask: Uint8Array, byTurn: readonly number[]): Float32Array {
  return Float32Array.from(turns, (turn, index) => (mask[index] === 1 ? (byTurn[turn - 1] ?? 0) : 0));
}
