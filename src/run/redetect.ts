/** Runs the detectors over the stored records of a run: older episodes learn what newer detectors see. */
import type { DetectEpisode, DetectRun, RunLevelRow } from "../core/detector.ts";
import { Failure, toFailure } from "../core/errors.ts";
import type { Finding, FindingTier } from "../core/finding.ts";
import { namedBodies } from "../core/named-bodies.ts";
import type { Store, StoredTrajectory, TrajectoryRow } from "../core/store.ts";
import type { Task } from "../core/task.ts";
import { evidenceOf } from "../episode/conclude.ts";
import { runLevelRow } from "./run-level-row.ts";

/** What a second look at a stored run needs. */
export interface RedetectParts {
  readonly runId: string;
  readonly store: Store;
  readonly detect: DetectEpisode;
  readonly detectRun: DetectRun;
  /** Null where the task is not there any more; detectors then know less. */
  readonly taskOf: (row: TrajectoryRow) => Task | null;
  readonly onDone: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** What was found; `sandlot detect --json` prints it. */
export interface RedetectReport {
  readonly runId: string;
  readonly episodes: number;
  /** What was found, known or new. */
  readonly byDetector: readonly {
    readonly detector: string;
    readonly tier: FindingTier;
    readonly episodes: number;
    readonly findings: number;
  }[];
  /** Findings that were not in the books yet. */
  readonly added: number;
  /** Episodes with a new finding of tier A or B: their training is held back from now on. */
  readonly heldBack: readonly number[];
  /** What the run as a whole shows, tier D. They name no episode, so they are said and not stored. */
  readonly alerts: readonly Finding[];
  /** Detectors that broke, with an episode on which they did. */
  readonly failed: readonly { readonly detector: string; readonly episodeNo: number }[];
  /** Records that could not be read. */
  readonly unreadable: readonly { readonly episodeNo: number; readonly message: string }[];
}

/** Detecting again adds only what is not there yet; outcomes and rewards stay as they were. */
export async function redetect(parts: RedetectParts): Promise<RedetectReport> {
  const { store, runId, detect } = parts;
  const rows = await store.episodes(runId);
  const seen = new Map<string, { detector: string; tier: FindingTier; episodes: Set<number>; findings: number }>();
  const failed = new Map<string, number>();
  const unreadable: { episodeNo: number; message: string }[] = [];
  const heldBack: number[] = [];
  const levels: RunLevelRow[] = [];
  let added = 0;
  for (const [index, row] of rows.entries()) {
    if (parts.signal.aborted)
      throw new Failure("cancelled", "The detection was stopped.", { cause: parts.signal.reason });
    const { episodeNo } = row;
    try {
      const stored = await store.trajectory(runId, episodeNo);
      if (stored === null) continue;
      const found = detect(await inputOf(stored, parts.taskOf(row)));
      for (const name of found.failed) failed.set(name, failed.get(name) ?? episodeNo);
      for (const { detector, tier } of found.findings) {
        const key = `${tier} ${detector}`;
        const entry = seen.get(key) ?? { detector, tier, episodes: new Set<number>(), findings: 0 };
        entry.episodes.add(episodeNo);
        seen.set(key, { ...entry, findings: entry.findings + 1 });
      }
      const isNew = await store.addFindings(runId, episodeNo, found.findings);
      added += isNew;
      if (isNew > 0 && found.findings.some(({ tier }) => tier === "A" || tier === "B")) heldBack.push(episodeNo);
      levels.push(runLevelRow(row, stored.document, await store.findings({ runId, episodeNo })));
    } catch (error) {
      const { code, message } = toFailure(error);
      if (code !== "object_missing" && code !== "record_invalid") throw error;
      unreadable.push({ episodeNo, message });
    }
    parts.onDone(index + 1, rows.length);
  }
  return {
    runId,
    episodes: rows.length,
    byDetector: [...seen.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { episodes, ...entry }]) => ({ ...entry, episodes: episodes.size })),
    added,
    heldBack,
    alerts: parts.detectRun(levels, await entropies(store, runId)),
    failed: [...failed].map(([detector, episodeNo]) => ({ detector, episodeNo })),
    unreadable,
  };
}

/** By policy version, in order. */
async function entropies(store: Store, runId: string): Promise<number[]> {
  const points = await store.points(runId, ["entropy"]);
  return [...points].sort((a, b) => a.step - b.step).map(({ value }) => value);
}

/** Detectors read bodies at once, so all of them are fetched before. */
async function inputOf({ document, body }: StoredTrajectory, task: Task | null) {
  const bodies = new Map<string, Uint8Array>();
  for (const [, hash] of namedBodies(document)) if (!bodies.has(hash)) bodies.set(hash, await body(hash));
  const read = (hash: string): Uint8Array | null => bodies.get(hash) ?? null;
  return { document, body: read, evidence: evidenceOf(document, read), task };
}
