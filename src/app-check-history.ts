/** Past graded episodes of one task, read from the store for the checks of history; no store is no history. */
import { runtime } from "./app-parts.ts";
import { Failure } from "./core/errors.ts";
import type { Evidence } from "./core/finding.ts";
import type { Store, TrajectoryRow } from "./core/store.ts";
import { openStore } from "./store/open-store.ts";
import type { PastEpisode } from "./task/check/check-contract.ts";

/** The newest ones are enough to judge by. */
const EPISODES_MAX = 256;

/** Looks up by hash of the task. Throws what the store throws, but for a folder without one. */
export function pastEpisodes(
  dataFolder: string,
): (task: { readonly key: string; readonly hash: string }) => Promise<readonly PastEpisode[]> {
  let rows: Promise<ReadonlyMap<string, readonly TrajectoryRow[]>> | null = null;
  return async ({ key, hash }) => {
    rows ??= withReader(dataFolder, gradedRows).then((found) => found ?? new Map());
    const mine = (await rows).get(key) ?? [];
    if (mine.length === 0) return [];
    return (await withReader(dataFolder, (store) => episodesOf(store, mine, hash))) ?? [];
  };
}

async function withReader<T>(folder: string, use: (store: Store) => Promise<T>): Promise<T | null> {
  let store: Store;
  try {
    store = await openStore({ folder, runtime, mode: "reader" });
  } catch (error) {
    if (error instanceof Failure && error.code === "not_found") return null;
    throw error;
  }
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Graded rows by task key, newest first. */
async function gradedRows(store: Store): Promise<ReadonlyMap<string, readonly TrajectoryRow[]>> {
  const byKey = new Map<string, TrajectoryRow[]>();
  for (const { runId } of await store.runs()) {
    for (const row of await store.episodes(runId, { outcome: "graded" })) {
      const known = byKey.get(row.taskKey);
      if (known === undefined) byKey.set(row.taskKey, [row]);
      else known.push(row);
    }
  }
  for (const rows of byKey.values()) rows.sort((a, b) => b.finishedAt - a.finishedAt);
  return byKey;
}

async function episodesOf(store: Store, rows: readonly TrajectoryRow[], hash: string): Promise<PastEpisode[]> {
  const episodes: PastEpisode[] = [];
  for (const { runId, episodeNo } of rows) {
    if (episodes.length >= EPISODES_MAX) break;
    const stored = await store.trajectory(runId, episodeNo);
    if (stored === null || stored.document.task.hash !== hash || stored.document.outcome.kind !== "graded") continue;
    const { document } = stored;
    const evidence = document.evidenceBlob === null ? null : evidenceOf(await stored.body(document.evidenceBlob));
    episodes.push({
      episodeId: `${runId}/${episodeNo}`,
      policy: document.policy.name,
      reward: stored.document.outcome.reward,
      tests: document.tests,
      changedPaths: (evidence?.changes ?? []).map(({ path }) => path),
    });
  }
  return episodes;
}

function evidenceOf(body: Uint8Array): Evidence | null {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Evidence;
  } catch {
    return null;
  }
}
