/**
 * What findings hold back from training. A quarantined episode keeps its reward and its place in the baseline; its
 * tokens are held back only where they would be rewarded, so that raising a finding never pays. A version with many
 * that nobody has looked at pauses the run: what is held back must not reshape the data unseen.
 */
import { Failure } from "../core/errors.ts";
import type { FindingRow } from "../core/finding.ts";
import type { QuarantinedTask, Store, TrajectoryRow } from "../core/store.ts";
import type { Trains } from "../rollout/collector.ts";

/** Of the graded episodes of one policy version, how many may wait for a review before the run pauses. */
const SHARE_MAX = 0.1;

/** What the findings on some episodes mean for training. */
export interface Quarantine {
  /** Whether the tokens of this episode train; `isExcluded` says that its outcome left them out. */
  trainsOf(row: TrajectoryRow, isExcluded?: boolean): Trains;
  /** Graded episodes that are held back, wholly or where they would be rewarded. */
  readonly quarantined: number;
  /** Episodes with a finding of tier A, and of tier B. */
  readonly findingsA: number;
  readonly findingsB: number;
  /** Throws `run_halted` when too many of one policy version wait for a review. */
  refuseUnseen(step: number): void;
}

/** What is held back of these rows, from what the store says of them now. */
export async function quarantineOf(store: Store, runId: string, rows: readonly TrajectoryRow[]): Promise<Quarantine> {
  const groups = rows.map(({ groupNo }) => groupNo);
  const found =
    rows.length === 0
      ? []
      : await store.findings({ runId, groupFrom: Math.min(...groups), groupTo: Math.max(...groups) });
  return quarantine(runId, rows, found, await store.quarantinedTasks(runId));
}

/** Whether a person has judged every finding that an episode was punished for as no cheating. */
export function isCleared(findings: readonly Pick<FindingRow, "isPunished" | "review">[]): boolean {
  const punished = findings.filter(({ isPunished }) => isPunished);
  return punished.length > 0 && punished.every(({ review }) => review === "legitimate" || review === "detector-defect");
}

/** Pure: see `quarantineOf`. */
export function quarantine(
  runId: string,
  rows: readonly TrajectoryRow[],
  findings: readonly FindingRow[],
  tasks: readonly QuarantinedTask[],
): Quarantine {
  const byEpisode = Map.groupBy(findings, ({ episodeNo }) => episodeNo);
  const taskKeys = new Set(tasks.map(({ taskKey }) => taskKey));
  const holdsBack = (row: TrajectoryRow, states: readonly string[]): boolean =>
    (byEpisode.get(row.episodeNo) ?? []).some(
      ({ tier, review }) => (tier === "B" || (tier === "A" && row.cause !== "cheating")) && states.includes(review),
    );
  const trainsOf = (row: TrajectoryRow, isExcluded = false): Trains => {
    if (taskKeys.has(row.taskKey)) return "never";
    if (isExcluded && !isCleared(byEpisode.get(row.episodeNo) ?? [])) return "never";
    return holdsBack(row, ["open", "confirmed"]) ? "unless-rewarded" : "always";
  };
  const graded = rows.filter(({ reward, rewardAdopted }) => (rewardAdopted ?? reward) !== null);
  const count = (tier: string): number => new Set(findings.filter((f) => f.tier === tier).map((f) => f.episodeNo)).size;
  return {
    trainsOf,
    quarantined: graded.filter((row) => trainsOf(row) !== "always").length,
    findingsA: count("A"),
    findingsB: count("B"),
    refuseUnseen: (step) => {
      for (const [version, members] of Map.groupBy(graded, ({ policyVersionFirst }) => policyVersionFirst)) {
        const unseen = members.filter((row) => holdsBack(row, ["open"])).length;
        if (unseen <= SHARE_MAX * members.length) continue;
        throw new Failure(
          "run_halted",
          `Step ${step} has ${unseen} of ${members.length} graded episodes of policy version ${version} with findings that ` +
            `nobody has reviewed, more than ${100 * SHARE_MAX} %; the run paused, so that holding them back cannot reshape the ` +
            `data unseen. See them: sandlot finding list ${runId}. Decide: sandlot finding review ID --as legitimate ` +
            `--reason TEXT. Then go on: sandlot run resume ${runId}`,
        );
      }
    },
  };
}
