/**
 * The store on one machine: SQLite for rows, a folder for bytes, one owning process. Every write goes through the
 * group commit, so the order of calls is the order of their effects; reads see what was committed.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Store, StoredTrajectory } from "../core/store.ts";
import { checkIdentity, decodeDocument, type EncodedRecord, encodeRecord } from "./codec.ts";
import { openDatabase, type StoreMode } from "./database.ts";
import { type EpisodeStatements, episodeStatements } from "./episode-statements.ts";
import { type FolderObjects, folderObjects, syncFolder } from "./folder-objects.ts";
import { type GroupCommit, groupCommit, type Write } from "./group-commit.ts";
import { giveUpOwnership, runLive, takeOwnership } from "./owner.ts";
import { type RecordBytes, recordBytes } from "./record-bytes.ts";
import { type RunStatements, runStatements } from "./run-statements.ts";
import { parseSegment } from "./segment.ts";
import { type MetricStatements, metricStatements, type StepStatements, stepStatements } from "./step-statements.ts";
import { storeFailure } from "./store-failure.ts";
import { type TrajectoryStatements, trajectoryStatements } from "./trajectory-statements.ts";
import { trimVerdicts, verdictMemory } from "./verdict-memory.ts";

export interface OpenStoreOptions {
  /** Holds `sandlot.db` and `objects/`; an owner makes it. */
  readonly folder: string;
  readonly runtime: Runtime;
  /** A reader works while another process owns the folder; all its writes throw `store_locked`. */
  readonly mode: StoreMode;
  /** The run the owner is about to continue: a live owner of it is then refused as `run_live`. */
  readonly runId?: string;
}

/** What the methods of a store share. */
interface Parts {
  readonly folder: string;
  readonly token: string;
  readonly clock: () => number;
  readonly database: DatabaseSync;
  readonly bytes: RecordBytes;
  readonly runs: RunStatements;
  readonly episodes: EpisodeStatements;
  readonly trajectories: TrajectoryStatements;
  readonly steps: StepStatements;
  readonly metrics: MetricStatements;
  readonly writes: GroupCommit | null;
  write<T>(write: Write<T>): Promise<T>;
}

/**
 * Throws `store_locked` or `run_live` when a live process owns the folder, naming it; `not_found` for a reader where
 * there is no store; `store_unavailable` for a schema version this Sandlot does not know.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { folder, runtime, mode } = options;
  try {
    if (mode === "owner") mkdirSync(join(folder, "objects"), { recursive: true });
    const database = openDatabase(join(folder, "sandlot.db"), mode);
    const objects = folderObjects(join(folder, "objects"));
    try {
      const token = runtime.id();
      if (mode === "owner") await own(database, objects, options, token);
      return storeOf(partsOf(options, database, objects, token));
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw storeFailure(error, folder);
  }
}

async function own(
  database: DatabaseSync,
  objects: FolderObjects,
  options: OpenStoreOptions,
  token: string,
): Promise<void> {
  const { folder, runtime, runId = null } = options;
  takeOwnership(database, { folder, token, since: runtime.now(), runId });
  await objects.sweep();
  await syncFolder(folder);
  trimVerdicts(database);
}

/** The time of rows, in milliseconds; it stands still while the system's clock goes back. */
function storeClock(runtime: Runtime): () => number {
  let last = 0;
  return () => {
    last = Math.max(last, Math.floor(runtime.now()));
    return last;
  };
}

function partsOf(options: OpenStoreOptions, database: DatabaseSync, objects: FolderObjects, token: string): Parts {
  const { folder, runtime, mode } = options;
  const clock = storeClock(runtime);
  const trajectories = trajectoryStatements(database, clock);
  const bytes = recordBytes(objects, trajectories.objectBytes);
  const writes =
    mode === "reader"
      ? null
      : groupCommit({
          database,
          folder,
          runtime,
          put: (contents) => bytes.put(`p/default/pack/${runtime.id()}`, contents),
          recordObjects: trajectories.recordObjects,
        });
  return {
    folder,
    token,
    clock,
    database,
    bytes,
    runs: runStatements(database, clock),
    episodes: episodeStatements(database, clock),
    trajectories,
    steps: stepStatements(database, clock),
    metrics: metricStatements(database),
    writes,
    async write(write) {
      if (writes !== null) return writes.write(write);
      throw new Failure("store_locked", `The store in ${folder} was opened for reading; this call writes.`);
    },
  };
}

function storeOf(parts: Parts): Store {
  const { folder, token, clock, database, runs, trajectories, write } = parts;
  let isOpen = true;
  return {
    ...verdictMemory(database, clock, parts.writes),
    createRun: (run) => write({ apply: () => runs.create(run) }),
    updateRun: (runId, change) => write({ apply: () => runs.update(runId, change) }),
    run: async (runId) => runs.one(runId),
    runs: async () => runs.all(),
    async acquireRun(runId) {
      const owner = runs.one(runId)?.owner ?? null;
      if (parts.writes === null && owner !== null) throw runLive(runId, owner);
      await write({ apply: () => runs.acquire(runId, token) });
    },
    ...episodeCalls(parts),
    ...stepCalls(parts),
    async usage() {
      const files = ["sandlot.db", "sandlot.db-wal"].map((name) =>
        statSync(join(folder, name), { throwIfNoEntry: false }),
      );
      const databaseBytes = files.reduce((sum, file) => sum + (file?.size ?? 0), 0);
      return { databaseBytes, objectBytes: trajectories.objectBytesTotal() };
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await parts.writes?.drain();
      if (parts.writes !== null) giveUpOwnership(database, token);
      database.close();
    },
  };
}

type EpisodeCalls =
  | "plan"
  | "claim"
  | "commit"
  | "release"
  | "cancel"
  | "reap"
  | "counts"
  | "episodes"
  | "attempts"
  | "trajectory";

function episodeCalls(parts: Parts): Pick<Store, EpisodeCalls> {
  const { token, runs, episodes, trajectories, write } = parts;
  return {
    plan: (runId, groups) => write({ apply: () => episodes.plan(runs.numberOf(runId), groups) }),
    claim: (request) => write({ apply: () => episodes.claim(runs.numberOf(request.runId), request, token) }),
    ...endings(parts),
    cancel: (runId, { groupFrom = 0 } = {}) => write({ apply: () => episodes.cancel(runs.numberOf(runId), groupFrom) }),
    reap: (runId) => write({ apply: () => episodes.reap(runs.numberOf(runId), token) }),
    counts: async (runId) => episodes.counts(runs.numberOf(runId)),
    episodes: async (runId, filter = {}) => trajectories.rows(runId, runs.numberOf(runId), filter),
    attempts: async (runId, episodeNo) => episodes.attempts(runs.numberOf(runId), episodeNo),
    trajectory: (runId, episodeNo) => storedTrajectory(parts, runId, episodeNo),
  };
}

/** The two ways an attempt ends. Its bytes are kept only when the fence says that its result counts. */
function endings(parts: Parts): Pick<Store, "commit" | "release"> {
  const { runs, episodes, trajectories, write } = parts;
  return {
    async commit({ lease, record }) {
      const runNo = runs.numberOf(lease.runId);
      const encoded = encodeRecord(record);
      checkIdentity(record.document, lease);
      return write({
        contents: encoded.contents,
        isWanted: () => episodes.holds(runNo, lease),
        apply: (stored) => {
          if (!episodes.holds(runNo, lease))
            return episodes.answer(runNo, lease) === "accepted" ? "accepted" : "superseded";
          if (stored === null) throw new Failure("unexpected", "A wanted record was not packed.");
          const { kind } = record.document.outcome;
          const state = kind === "graded" ? "done" : kind;
          const failure = record.document.outcome.kind === "failed" ? record.document.outcome.failure : null;
          const { startedAt } = episodes.close(runNo, lease, { state, answer: "accepted", failure, message: null });
          trajectories.insert(runNo, lease.episodeNo, encoded, stored.pack, startedAt);
          return "accepted";
        },
      });
    },
    async release({ lease, failure, message, retryInMs, record }) {
      const runNo = runs.numberOf(lease.runId);
      const encoded = record !== null && retryInMs === null ? encodePartial(record, lease) : null;
      return write({
        contents: encoded?.contents ?? [],
        isWanted: () => episodes.holds(runNo, lease),
        apply: (stored) => {
          if (!episodes.holds(runNo, lease)) {
            const answer = episodes.answer(runNo, lease);
            return answer === "requeued" || answer === "closed" ? answer : "superseded";
          }
          if (retryInMs !== null) {
            episodes.requeue(runNo, lease, failure, message, retryInMs);
            return "requeued";
          }
          const { startedAt } = episodes.close(runNo, lease, { state: "failed", answer: "closed", failure, message });
          if (encoded !== null && stored !== null) {
            trajectories.insert(runNo, lease.episodeNo, encoded, stored.pack, startedAt);
          }
          return "closed";
        },
      });
    },
  };
}

function encodePartial(
  record: Parameters<typeof encodeRecord>[0],
  lease: Parameters<typeof checkIdentity>[1],
): EncodedRecord {
  if (record.document.outcome.kind === "graded") {
    throw new Failure(
      "record_invalid",
      `Record of episode ${record.document.id}: it is graded; a graded episode is committed, not released.`,
    );
  }
  checkIdentity(record.document, lease);
  return encodeRecord(record);
}

async function storedTrajectory(parts: Parts, runId: string, episodeNo: number): Promise<StoredTrajectory | null> {
  const { bytes, runs, trajectories } = parts;
  const place = trajectories.place(runs.numberOf(runId), episodeNo);
  if (place === null) return null;
  const document = decodeDocument(await bytes.get(place.pack, place.documentHash));
  const { segmentHash } = place;
  return {
    document,
    body: (hash) => bytes.get(place.pack, hash),
    segment: async () => (segmentHash === null ? null : parseSegment(await bytes.get(place.pack, segmentHash))),
  };
}

type StepCalls = "commitStep" | "rollBack" | "steps" | "addPoints" | "points";

function stepCalls({ runs, steps, metrics, write }: Parts): Pick<Store, StepCalls> {
  return {
    commitStep: (step) => write({ apply: () => steps.commit(runs.numberOf(step.runId), step) }),
    rollBack: (runId, step) => write({ apply: () => steps.rollBack(runs.numberOf(runId), step) }),
    steps: async (runId) => steps.all(runId, runs.numberOf(runId)),
    addPoints: (runId, points) => write({ apply: () => metrics.add(runs.numberOf(runId), points) }),
    points: async (runId, ids) => metrics.points(runs.numberOf(runId), ids ?? null),
  };
}
