/**
 * Turns finished groups into a batch. Only graded members count: a failed or cancelled one changes neither the
 * baseline nor the batch. Groups without a gradient are counted and left out, and so are tokens that findings hold back.
 */
import { type AdvantageEstimator, type BatchItem, hasGradient } from "../core/training.ts";
import type { TokenSegment } from "../core/trajectory.ts";
import { isCreditedByTurn, tokenAdvantages, turnAdvantages } from "./turn-credit.ts";

/** Whether an episode's own tokens train. It stands in its group's baseline all the same. */
export type Trains = "always" | "unless-rewarded" | "never";

/** One member of a group that has ended, as the collector needs it. */
export interface FinishedMember {
  readonly episodeId: string;
  readonly groupId: string;
  readonly groupNo: number;
  readonly member: number;
  /** Null unless graded. */
  readonly reward: number | null;
  readonly policyVersion: number;
  readonly trains: Trains;
  /** Null when the policy samples no tokens. */
  readonly segment: TokenSegment | null;
  /** What each turn was paid for milestones, from turn 1; absent or all 0 for a task without any. */
  readonly turnRewards?: readonly number[];
}

export interface Collected {
  readonly items: readonly BatchItem[];
  readonly groupNos: readonly number[];
  /** Mean of the group means over the graded members of every group, zero-variance ones included. */
  readonly reward: number;
  readonly graded: number;
  /** Groups whose members all earned the same, and whose turns did too. */
  readonly groupsWithoutVariance: number;
  /** Groups with too few graded members. */
  readonly groupsAbandoned: number;
  readonly groups: number;
}

/** `groupSize` is the planned size; a group needs max(2, half of it) graded members. */
export function collectGroups(
  members: readonly FinishedMember[],
  groupSize: number,
  advantages: AdvantageEstimator,
): Collected {
  const groups = Map.groupBy(members, (member) => member.groupNo);
  const items: BatchItem[] = [];
  const means: number[] = [];
  let graded = 0;
  let groupsWithoutVariance = 0;
  let groupsAbandoned = 0;
  for (const groupNo of [...groups.keys()].sort((a, b) => a - b)) {
    const valid = (groups.get(groupNo) ?? []).filter(isTrainable).sort((a, b) => a.member - b.member);
    graded += valid.length;
    if (valid.length < Math.max(2, Math.ceil(groupSize / 2))) {
      groupsAbandoned += 1;
      continue;
    }
    const rewards = valid.map((member) => member.reward);
    means.push(rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length);
    const gathered = groupItems(valid, advantages);
    if (gathered === null) groupsWithoutVariance += 1;
    else items.push(...gathered);
  }
  return {
    items,
    groupNos: [...groups.keys()].sort((a, b) => a - b),
    reward: means.length === 0 ? Number.NaN : means.reduce((sum, mean) => sum + mean, 0) / means.length,
    graded,
    groupsWithoutVariance,
    groupsAbandoned,
    groups: groups.size,
  };
}

/** Null for a group that has no gradient, because all its members earned the same. */
function groupItems(members: readonly TrainableMember[], advantages: AdvantageEstimator): BatchItem[] | null {
  const rewards = members.map((member) => member.reward);
  const values = advantages(rewards);
  const credited = members.map(({ reward, turnRewards }) => ({ reward, turnRewards: turnRewards ?? [] }));
  if (isCreditedByTurn(credited)) {
    const byTurn = turnAdvantages(credited, advantages);
    const items = members.map((member, index) => byTurnItem(member, values[index] ?? 0, byTurn[index] ?? []));
    return items.some(hasGradient) ? items.filter((_, index) => members[index]?.trains !== "never") : null;
  }
  if (rewards.every((reward) => reward === rewards[0])) return null;
  return members.flatMap((member, index) => {
    const advantage = values[index] ?? 0;
    return isLetThrough(member, advantage) ? [toItem(member, advantage)] : [];
  });
}

/** What is held back may lower what was sampled in a turn, never raise it. */
function byTurnItem(member: TrainableMember, advantage: number, byTurn: readonly number[]): BatchItem {
  const { turns, mask } = member.segment;
  const isHeldBack = member.trains === "unless-rewarded";
  const credited = isHeldBack ? byTurn.map((value) => Math.min(0, value)) : byTurn;
  return { ...toItem(member, advantage), tokenAdvantages: tokenAdvantages(turns, mask, credited) };
}

type TrainableMember = FinishedMember & { readonly reward: number; readonly segment: TokenSegment };

function isTrainable(member: FinishedMember): member is TrainableMember {
  return member.reward !== null && member.segment !== null;
}

function isLetThrough({ trains }: FinishedMember, advantage: number): boolean {
  return trains === "always" || (trains === "unless-rewarded" && advantage <= 0);
}

function toItem(member: TrainableMember, advantage: number): BatchItem {
  const { ids, mask, logprobs, temperature } = member.segment;
  return {
    episodeId: member.episodeId,
    groupId: member.groupId,
    reward: member.reward,
    advantage,
    policyVersion: member.policyVersion,
    sequence: { tokens: ids, mask, logprobs, temperature },
  };
}
