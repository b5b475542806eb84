/**
 * The store on one machine: SQLite for rows, a folder for bytes, one owning process. Every write goes through the
 * group commit, so the order of calls is the order of their effects; reads see what was committed.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Store } from "../core/store.ts";
import { openDatabase, type StoreMode } from "./database.ts";
import { episodeCalls } from "./episode-calls.ts";
import { episodeStatements } from "./episode-statements.ts";
import { findingCalls } from "./finding-calls.ts";
import { findingStatements } from "./finding-statements.ts";
import { type FolderObjects, folderObjects, syncFolder } from "./folder-objects.ts";
import { groupCommit } from "./group-commit.ts";
import { PACK_PREFIX, packMerger, removeOrphans } from "./merge-packs.ts";
import { giveUpOwnership, runLive, takeOwnership } from "./owner.ts";
import { type RecordBytes, recordBytes } from "./record-bytes.ts";
import { regradeStatements } from "./regrade-statements.ts";
import { runStatements } from "./run-statements.ts";
import { metricStatements, stepStatements } from "./step-statements.ts";
import { storeFailure } from "./store-failure.ts";
import type { StoreParts, StoreWriter } from "./store-parts.ts";
import { type TrajectoryStatements, trajectoryStatements } from "./trajectory-statements.ts";
import { trimVerdicts, verdictMemory } from "./verdict-memory.ts";

export interface OpenStoreOptions {
  /** Holds `sandlot.db` and `objects/`; an owner makes it. */
  readonly folder: string;
  readonly runtime: Runtime;
  /** A reader works while another process owns the folder; all its writes throw `store_locked`. */
  readonly mode: StoreMode;
}

const DATABASE_FILE = "sandlot.db";

/**
 * Throws when a live process owns the folder, naming it: `run_live` with the run it holds, `store_locked` when it holds
 * none. Throws `not_found` for a reader where there is no store; `store_unavailable` for a schema version this Sandlot does not know.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { folder, runtime, mode } = options;
  try {
    if (mode === "owner") makeFolder(join(folder, "objects"));
    const database = openDatabase(join(folder, DATABASE_FILE), mode);
    try {
      return await openParts(options, database, runtime.id());
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw storeFailure(error, folder);
  }
}

/** With its parents. Node's own recursive call never returns where the file system answers ENOENT, as below /proc. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have made it in between.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

async function openParts(options: OpenStoreOptions, database: DatabaseSync, token: string): Promise<Store> {
  const { folder, runtime, mode } = options;
  const objects = folderObjects(join(folder, "objects"));
  if (mode === "reader") return storeOf(partsOf(options, database, objects, token));

  takeOwnership(database, { folder, token, since: runtime.now() });
  try {
    const parts = partsOf(options, database, objects, token);
    await tidyUp(parts, objects);
    return storeOf(parts);
  } catch (error) {
    giveUpOwnership(database, token);
    throw error;
  }
}

/** What the owner before may have left: half-written objects, packs without rows, verdicts beyond the limit. */
async function tidyUp({ folder, database, trajectories }: StoreParts, objects: FolderObjects): Promise<void> {
  await objects.sweep();
  await removeOrphans(objects, trajectories);
  trimVerdicts(database);
  await syncFolder(folder);
}

function partsOf(
  { folder, runtime, mode }: OpenStoreOptions,
  database: DatabaseSync,
  objects: FolderObjects,
  token: string,
): StoreParts {
  const clock = storeClock(runtime);
  const trajectories = trajectoryStatements(database, clock);
  const bytes = recordBytes(objects, trajectories.objectBytes);
  const places = { folder, runtime, database, objects, bytes, trajectories };
  const writer = mode === "owner" ? writerOf(places) : null;
  return {
    folder,
    token,
    clock,
    database,
    bytes,
    runs: runStatements(database, clock),
    episodes: episodeStatements(database, clock),
    trajectories,
    findings: findingStatements(database, clock),
    regrades: regradeStatements(database, clock),
    steps: stepStatements(database, clock),
    metrics: metricStatements(database),
    writer,
    async read(work) {
      try {
        return work();
      } catch (error) {
        throw storeFailure(error, folder);
      }
    },
    async write(write) {
      if (writer !== null) return writer.write(write);
      throw new Failure("store_locked", `The store in ${folder} was opened for reading; this call writes.`);
    },
  };
}

/** The time of rows, in milliseconds; it stands still while the system's clock goes back. */
function storeClock(runtime: Runtime): () => number {
  let last = 0;
  return () => {
    last = Math.max(last, Math.floor(runtime.now()));
    return last;
  };
}

function writerOf(places: {
  readonly folder: string;
  readonly runtime: Runtime;
  readonly database: DatabaseSync;
  readonly objects: FolderObjects;
  readonly bytes: RecordBytes;
  readonly trajectories: TrajectoryStatements;
}): StoreWriter {
  const { folder, runtime, database, objects, bytes, trajectories } = places;
  const newKey = (): string => `${PACK_PREFIX}${runtime.id()}`;
  const writes = groupCommit({
    database,
    folder,
    runtime,
    put: async (contents) => {
      const stored = await bytes.put(newKey(), contents);
      merger.packAdded();
      return stored;
    },
    recordObjects: trajectories.recordObjects,
  });
  const merger = packMerger({ objects, trajectories, newKey, write: writes.write });
  return {
    write: writes.write,
    async drain() {
      await merger.close();
      await writes.drain();
    },
  };
}

function storeOf(parts: StoreParts): Store {
  const { folder, token, database, runs, steps, metrics, trajectories } = parts;
  let isOpen = true;
  return {
    ...verdictMemory(parts),
    createRun: (run) => parts.write({ apply: () => runs.create(run) }),
    updateRun: (runId, change) => parts.write({ apply: () => runs.update(runId, change) }),
    run: (runId) => parts.read(() => runs.one(runId)),
    runs: () => parts.read(() => runs.all()),
    async acquireRun(runId) {
      const owner = (await parts.read(() => runs.one(runId)))?.owner ?? null;
      if (parts.writer === null && owner !== null) throw runLive(runId, owner);
      await parts.write({ apply: () => runs.acquire(runId, token) });
    },

    ...episodeCalls(parts),
    ...findingCalls(parts),

    commitStep: (step) => parts.write({ apply: () => steps.commit(runs.numberOf(step.runId), step) }),
    rollBack: (runId, step) => parts.write({ apply: () => steps.rollBack(runs.numberOf(runId), step) }),
    steps: (runId) => parts.read(() => steps.all(runId, runs.numberOf(runId))),
    addPoints: (runId, points) => parts.write({ apply: () => metrics.add(runs.numberOf(runId), points) }),
    points: (runId, ids) => parts.read(() => metrics.points(runs.numberOf(runId), ids ?? null)),

    usage: () =>
      parts.read(() => {
        const paths = [DATABASE_FILE, `${DATABASE_FILE}-wal`].map((name) => join(folder, name));
        const sizes = paths.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
        return {
          databaseBytes: sizes.reduce((sum, size) => sum + size, 0),
          objectBytes: trajectories.objectBytesTotal(),
        };
      }),
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await parts.writer?.drain();
      try {
        if (parts.writer !== null) giveUpOwnership(database, token);
      } catch (error) {
        throw storeFailure(error, folder);
      } finally {
        database.close();
      }
    },
  };
}
