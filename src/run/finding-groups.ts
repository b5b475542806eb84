/** Findings as a person meets them first: how many of each detector, in how many episodes, and one example with evidence. */
import type { FindingRow, FindingTier } from "../core/finding.ts";

/** The findings of one detector about one pattern. */
export interface FindingGroup {
  readonly detector: string;
  readonly tier: FindingTier;
  readonly pattern: number;
  readonly findings: number;
  readonly episodes: number;
  /** Findings that changed what was graded. */
  readonly effective: number;
  /** Findings that nobody has decided on. */
  readonly open: number;
  /** The first one, an effective one where there is any. */
  readonly example: FindingRow;
}

/** By tier, then by how many episodes. Pure. */
export function findingGroups(rows: readonly FindingRow[]): readonly FindingGroup[] {
  const byKind = Map.groupBy(rows, ({ tier, detector, pattern }) => `${tier} ${detector} ${pattern}`);
  const groups = [...byKind.values()].flatMap((each): FindingGroup[] => {
    const effective = each.filter(({ effect }) => effect === "effective");
    const example = effective[0] ?? each[0];
    if (example === undefined) return [];
    const { detector, tier, pattern } = example;
    return [
      {
        ...{ detector, tier, pattern, example, findings: each.length, effective: effective.length },
        episodes: new Set(each.map(({ episodeNo }) => episodeNo)).size,
        open: each.filter(({ review }) => review === "open").length,
      },
    ];
  });
  return groups.sort((a, b) => (a.tier === b.tier ? b.episodes - a.episodes : a.tier < b.tier ? -1 : 1));
}
