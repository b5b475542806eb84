/** The statements on accepted trajectories and on the objects that hold their bytes. Callers hold the transaction. */
import type { DatabaseSync } from "node:sqlite";
import type { EpisodeFilter, TrajectoryRow } from "../core/store.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { EncodedRecord } from "./codec.ts";
import { many, one } from "./database.ts";
import type { StoredContents, StoredObject } from "./record-bytes.ts";

/** Where the contents of one trajectory lie. */
export interface TrajectoryPlace {
  readonly pack: StoredObject;
  readonly documentHash: string;
  readonly segmentHash: string | null;
}

export interface TrajectoryStatements {
  insert(runNo: number, episodeNo: number, record: EncodedRecord, pack: StoredObject, startedAt: number): void;
  rows(runId: string, runNo: number, filter: EpisodeFilter): TrajectoryRow[];
  place(runNo: number, episodeNo: number): TrajectoryPlace | null;
  recordObjects(stored: StoredContents): void;
  /** Null when no row names the object. */
  objectBytes(key: string): number | null;
  objectBytesTotal(): number;
  /** Objects whose key starts with `prefix` and that have fewer than `bytesMax` bytes, by key. */
  objectsBelow(prefix: string, bytesMax: number): StoredObject[];
  /** Names `to` wherever a row named one of `keys`, and forgets those. */
  moveObjects(keys: readonly string[], to: StoredObject): void;
}

const ROWS = `SELECT t.episode_no AS episodeNo, f.group_no AS groupNo, f.member, g.phase, g.step, g.split,
    g.task_key AS taskKey, g.task_ref AS taskRef, t.outcome, t.cause, t.stop_reason AS stopReason, t.failure, t.reward,
    (SELECT h.reward FROM verdict_history h JOIN adoption a ON a.run_no = h.run_no AND a.regrade_id = h.regrade_id
     WHERE h.run_no = t.run_no AND h.episode_no = t.episode_no AND h.reward IS NOT NULL
     ORDER BY a.adoption_no DESC LIMIT 1) AS rewardAdopted,
    t.is_verdict_reused AS isVerdictReused, t.policy_version_first AS policyVersionFirst,
    t.policy_version_last AS policyVersionLast, f.attempt_no AS attempts, t.turns,
    t.sampled_tokens AS sampledTokens, t.duration_ms AS durationMs, f.finished_at AS finishedAt
  FROM trajectory t
  JOIN finished f ON f.run_no = t.run_no AND f.episode_no = t.episode_no
  JOIN episode_group g ON g.run_no = f.run_no AND g.group_no = f.group_no
  WHERE t.run_no = ?1 AND (?2 IS NULL OR g.phase = ?2) AND (?3 IS NULL OR g.step = ?3)
    AND (?4 IS NULL OR f.group_no >= ?4) AND (?5 IS NULL OR f.group_no <= ?5) AND (?6 IS NULL OR t.outcome = ?6)
  ORDER BY t.episode_no LIMIT ?7`;

export function trajectoryStatements(database: DatabaseSync, clock: () => number): TrajectoryStatements {
  const selectRows = database.prepare(ROWS);
  const selectPlace = database.prepare(
    `SELECT object_key AS key, bytes, document_hash AS documentHash, segment_hash AS segmentHash
     FROM trajectory JOIN object USING (object_key) WHERE run_no = ? AND episode_no = ?`,
  );
  const selectBytes = database.prepare("SELECT bytes FROM object WHERE object_key = ?");
  const selectTotal = database.prepare("SELECT coalesce(sum(bytes), 0) AS bytes FROM object");
  const insertObject = database.prepare(
    "INSERT INTO object (object_key, bytes, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const selectBelow = database.prepare(
    `SELECT object_key AS key, bytes FROM object
     WHERE object_key >= ?1 AND substr(object_key, 1, length(?1)) = ?1 AND bytes < ?2 ORDER BY object_key`,
  );
  const moveTrajectories = database.prepare("UPDATE trajectory SET object_key = ? WHERE object_key = ?");
  const deleteObject = database.prepare("DELETE FROM object WHERE object_key = ?");
  const insertTrajectory = database.prepare(
    `INSERT INTO trajectory (run_no, episode_no, object_key, document_hash, segment_hash, outcome, cause, stop_reason,
       failure, reward, is_verdict_reused, policy_version_first, policy_version_last, turns, sampled_tokens, duration_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return {
    insert(runNo, episodeNo, { document, documentHash, segmentHash }, pack, startedAt) {
      const { outcome, policy } = document;
      insertTrajectory.run(
        runNo,
        episodeNo,
        pack.key,
        documentHash,
        segmentHash,
        outcome.kind,
        outcome.cause,
        outcome.kind === "graded" ? outcome.stopReason : null,
        outcome.kind === "failed" ? outcome.failure : null,
        outcome.kind === "graded" ? outcome.reward : null,
        document.verification?.isReused === true ? 1 : 0,
        policy.versionFirst,
        policy.versionLast,
        document.turns.length,
        sampledTokens(document),
        Math.max(0, Math.round(clock() - startedAt)),
      );
    },
    rows(runId, runNo, { phase, step, groupFrom, groupTo, outcome, limit }) {
      const filter = [phase, step, groupFrom, groupTo, outcome].map((value) => value ?? null);
      type Stored = Omit<TrajectoryRow, "runId" | "isVerdictReused"> & { isVerdictReused: number };
      return many<Stored>(selectRows, runNo, ...filter, limit ?? -1).map(({ isVerdictReused, ...row }) => ({
        runId,
        ...row,
        isVerdictReused: isVerdictReused === 1,
      }));
    },
    place(runNo, episodeNo) {
      const row = one<StoredObject & Omit<TrajectoryPlace, "pack">>(selectPlace, runNo, episodeNo);
      if (row === null) return null;
      const { key, bytes, documentHash, segmentHash } = row;
      return { pack: { key, bytes }, documentHash, segmentHash };
    },
    recordObjects({ pack, shared }) {
      for (const { key, bytes } of [pack, ...shared]) insertObject.run(key, bytes, clock());
    },
    objectBytes: (key) => one<{ bytes: number }>(selectBytes, key)?.bytes ?? null,
    objectBytesTotal: () => one<{ bytes: number }>(selectTotal)?.bytes ?? 0,
    objectsBelow: (prefix, bytesMax) => many<StoredObject>(selectBelow, prefix, bytesMax),
    moveObjects(keys, to) {
      insertObject.run(to.key, to.bytes, clock());
      for (const key of keys) {
        moveTrajectories.run(to.key, key);
        deleteObject.run(key);
      }
    },
  };
}

function sampledTokens({ tokens, turns }: Trajectory): number {
  return tokens?.sampledCount ?? turns.reduce((sum, turn) => sum + turn.sampledTokens, 0);
}
