/**
 * What a run took over all its sessions: wall time, time by phase, sandboxes. Kept in the store as points of step 0 at
 * every checkpoint, so that a resumed run's report covers the whole run, up to what a kill cut off.
 */
import type { Store } from "../core/store.ts";

export interface RunTotals {
  readonly wallSeconds: number;
  readonly sandboxesCreated: number;
  readonly secondsByPhase: Readonly<Record<string, number>>;
  readonly secondsByEpisodePhase: Readonly<Record<string, number>>;
}

const PREFIX = "total/";

/** Totals of the sessions before this one; zeros for a new run. */
export async function readTotals(store: Store, runId: string): Promise<RunTotals> {
  const points = (await store.points(runId)).filter((point) => point.id.startsWith(PREFIX));
  const under = (folder: string): Record<string, number> =>
    Object.fromEntries(
      points
        .filter((point) => point.id.startsWith(`${PREFIX}${folder}/`))
        .map((point) => [point.id.slice(PREFIX.length + folder.length + 1), point.value]),
    );
  const single = under("run");
  return {
    wallSeconds: single["wall_seconds"] ?? 0,
    sandboxesCreated: single["sandboxes_created"] ?? 0,
    secondsByPhase: under("phase"),
    secondsByEpisodePhase: under("episode_phase"),
  };
}

export async function writeTotals(store: Store, runId: string, totals: RunTotals): Promise<void> {
  const points = [
    ["run/wall_seconds", totals.wallSeconds],
    ["run/sandboxes_created", totals.sandboxesCreated],
    ...Object.entries(totals.secondsByPhase).map(([name, value]) => [`phase/${name}`, value] as const),
    ...Object.entries(totals.secondsByEpisodePhase).map(([name, value]) => [`episode_phase/${name}`, value] as const),
  ] as const;
  await store.addPoints(
    runId,
    points.map(([id, value]) => ({ id: `${PREFIX}${id}`, step: 0, value })),
  );
}

/** Pure: sums, phase by phase. */
export function addTotals(a: RunTotals, b: RunTotals): RunTotals {
  const sum = (
    left: Readonly<Record<string, number>>,
    right: Readonly<Record<string, number>>,
  ): Record<string, number> =>
    Object.fromEntries(
      [...new Set([...Object.keys(left), ...Object.keys(right)])].map((key) => [
        key,
        (left[key] ?? 0) + (right[key] ?? 0),
      ]),
    );
  return {
    wallSeconds: a.wallSeconds + b.wallSeconds,
    sandboxesCreated: a.sandboxesCreated + b.sandboxesCreated,
    secondsByPhase: sum(a.secondsByPhase, b.secondsByPhase),
    secondsByEpisodePhase: sum(a.secondsByEpisodePhase, b.secondsByEpisodePhase),
  };
}
