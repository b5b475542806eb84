/** What a training run ends with: every number read back from the store, so that none can differ from the record. */
import type { OutcomeClass } from "../core/outcome.ts";
import type { TrajectoryRow } from "../core/store.ts";
import { heldOutRates } from "./held-out.ts";
import type { TrainSummary } from "./report.ts";
import type { TrainContext } from "./train-context.ts";

export async function summarize(
  context: TrainContext,
  end: Pick<TrainSummary, "state" | "reason">,
): Promise<TrainSummary> {
  const { store, runId, recipe } = context;
  const rows = await store.episodes(runId);
  const steps = await store.steps(runId);
  // After a resume points of steps that were rolled back are there until those are taken again.
  const taken = new Set(steps.map(({ step }) => step));
  const points = (await store.points(runId, ["reward", "rollout/effective_episodes"])).filter(({ step }) =>
    taken.has(step),
  );
  const usage = await store.usage();
  const totals = context.totals();
  const effective = points
    .filter((point) => point.id === "rollout/effective_episodes")
    .reduce((sum, point) => sum + point.value, 0);
  const coreHours = ((totals.secondsByPhase["rl"] ?? 0) * context.cores) / 3_600;
  return {
    runId,
    name: recipe.name,
    ...end,
    heldOut: await heldOutRates(context),
    episodes: rows.length,
    outcomes: countOutcomes(rows),
    verdictsReused: rows.filter((row) => row.isVerdictReused).length,
    ...totals,
    stepCount: steps.length,
    effectiveEpisodesPerCoreHour: coreHours === 0 ? null : effective / coreHours,
    dataFolder: context.dataFolder,
    diskBytes: usage.databaseBytes + usage.objectBytes,
    rewardByStep: points.filter((point) => point.id === "reward").map((point) => point.value),
  };
}

export function countOutcomes(rows: readonly TrajectoryRow[]): Partial<Record<OutcomeClass, number>> {
  const counts: Partial<Record<OutcomeClass, number>> = {};
  for (const row of rows) {
    const key = `${row.outcome}/${row.cause}` as OutcomeClass;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
