/**
 * The lease machine: ready → leased → done | failed | cancelled, and leased → ready on retry. A result counts only
 * under the fence its episode has now; whoever comes with an older one is told `superseded`. Callers hold the
 * transaction.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Failure, type FailureCode } from "../core/errors.ts";
import type { AttemptRow, ClaimRequest, GroupPlan, Lease, Store } from "../core/store.ts";
import { many, one } from "./database.ts";

type HeldLease = Pick<Lease, "episodeNo" | "attempt" | "fence">;
type FinalState = "done" | "failed" | "cancelled";

const STATES = ["ready", "leased", "done", "failed", "cancelled"] as const;

export interface Close {
  readonly state: FinalState;
  readonly answer: "accepted" | "closed";
  readonly failure: FailureCode | null;
  readonly message: string | null;
}

export interface EpisodeStatements {
  plan(runNo: number, groups: readonly GroupPlan[]): void;
  claim(runNo: number, request: ClaimRequest, ownerToken: string): Lease[];
  /** Whether this attempt still holds its episode, by the fence. */
  holds(runNo: number, lease: HeldLease): boolean;
  /** What the attempt was answered when it ended; null while it has not ended or was never there. */
  answer(runNo: number, lease: HeldLease): string | null;
  /** Ends a held episode. Returns the start of its attempt and its group. */
  close(runNo: number, lease: HeldLease, end: Close): { readonly startedAt: number; readonly groupNo: number };
  requeue(runNo: number, lease: HeldLease, failure: FailureCode, message: string, retryInMs: number): void;
  cancel(runNo: number, groupFrom: number): number;
  /** Leases of other owners, and those whose time is over, become ready. */
  reap(runNo: number, ownerToken: string): number;
  counts(runNo: number, groupTo: number | null): Awaited<ReturnType<Store["counts"]>>;
  attempts(runNo: number, episodeNo: number): AttemptRow[];
}

export function episodeStatements(database: DatabaseSync, clock: () => number): EpisodeStatements {
  return {
    ...planning(database, clock),
    ...leasing(database, clock),
    ...closing(database, clock),
    ...sweeping(database, clock),
    ...counting(database),
  };
}

function planning(database: DatabaseSync, clock: () => number): Pick<EpisodeStatements, "plan"> {
  const insertGroup = database.prepare(
    `INSERT INTO episode_group (run_no, group_no, phase, step, task_key, task_hash, task_ref, split, grading_seed, planned_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const selectMember = database.prepare(
    `SELECT episode_no AS episodeNo FROM episode WHERE run_no = ?1 AND group_no = ?2 AND member = ?3
     UNION ALL SELECT episode_no FROM finished WHERE run_no = ?1 AND group_no = ?2 AND member = ?3`,
  );
  const insertEpisode = database.prepare(
    "INSERT INTO episode (run_no, episode_no, group_no, member, sampling_seed, not_before) VALUES (?, ?, ?, ?, ?, ?)",
  );
  return {
    plan(runNo, groups) {
      const now = clock();
      for (const group of groups) {
        const { groupNo, phase, step, taskKey, taskHash, taskRef, split, gradingSeed } = group;
        insertGroup.run(runNo, groupNo, phase, step, taskKey, taskHash, taskRef, split, gradingSeed, now);
        for (const { episodeNo, member, samplingSeed } of group.members) {
          const known = one<{ episodeNo: number }>(selectMember, runNo, groupNo, member);
          if (known === null) insertEpisode.run(runNo, episodeNo, groupNo, member, samplingSeed, now);
          else if (known.episodeNo !== episodeNo) {
            throw new Failure(
              "request_invalid",
              `Member ${member} of group ${groupNo} was planned as episode ${known.episodeNo} and now as ${episodeNo}; a member keeps its episode.`,
            );
          }
        }
      }
    },
  };
}

function leasing(database: DatabaseSync, clock: () => number): Pick<EpisodeStatements, "claim" | "holds"> {
  const selectReady = database.prepare(
    `SELECT e.episode_no AS episodeNo, e.group_no AS groupNo, member, attempt_no + 1 AS attempt, fence + 1 AS fence,
       phase, step, task_ref AS taskRef, split, sampling_seed AS samplingSeed, grading_seed AS gradingSeed,
       not_before AS readyAt
     FROM episode e JOIN episode_group g ON g.run_no = e.run_no AND g.group_no = e.group_no
     WHERE e.run_no = ?1 AND state = 'ready' AND not_before <= ?2 AND (?4 IS NULL OR e.group_no <= ?4)
     ORDER BY e.episode_no LIMIT ?3`,
  );
  const lease = database.prepare(
    `UPDATE episode SET state = 'leased', attempt_no = ?, fence = ?, worker_id = ?, owner_token = ?, lease_until = ?
     WHERE run_no = ? AND episode_no = ?`,
  );
  const insertAttempt = database.prepare(
    "INSERT INTO attempt (run_no, episode_no, attempt_no, fence, worker_id, started_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const selectHeld = database.prepare(
    "SELECT 1 AS held FROM episode WHERE run_no = ? AND episode_no = ? AND state = 'leased' AND attempt_no = ? AND fence = ?",
  );
  return {
    claim(runNo, { runId, workerId, episodesMax, leaseMs, groupTo }, ownerToken) {
      const now = clock();
      const ready = many<Omit<Lease, "runId">>(selectReady, runNo, now, episodesMax, groupTo ?? null);
      for (const { episodeNo, attempt, fence } of ready) {
        lease.run(attempt, fence, workerId, ownerToken, now + leaseMs, runNo, episodeNo);
        insertAttempt.run(runNo, episodeNo, attempt, fence, workerId, now);
      }
      return ready.map((row) => ({ runId, ...row }));
    },
    holds: (runNo, { episodeNo, attempt, fence }) => one(selectHeld, runNo, episodeNo, attempt, fence) !== null,
  };
}

function closing(database: DatabaseSync, clock: () => number): Pick<EpisodeStatements, "answer" | "close" | "requeue"> {
  const endAttempt = endingAttempt(database);
  const finish = finishing(database);
  const selectAnswer = database.prepare(
    "SELECT answer FROM attempt WHERE run_no = ? AND episode_no = ? AND attempt_no = ? AND fence = ?",
  );
  const selectStart = database.prepare(
    `SELECT started_at AS startedAt, group_no AS groupNo FROM attempt JOIN episode USING (run_no, episode_no)
     WHERE run_no = ? AND episode_no = ? AND attempt.attempt_no = ?`,
  );
  const makeReady = makingReady(database);
  return {
    answer: (runNo, { episodeNo, attempt, fence }) =>
      one<{ answer: string | null }>(selectAnswer, runNo, episodeNo, attempt, fence)?.answer ?? null,
    close(runNo, { episodeNo, attempt }, { state, answer, failure, message }) {
      const start = one<{ startedAt: number; groupNo: number }>(selectStart, runNo, episodeNo, attempt);
      if (start === null) throw new Failure("unexpected", `Episode ${episodeNo} has no attempt ${attempt} to close.`);
      const now = clock();
      endAttempt.run(now, answer, failure, message, runNo, episodeNo, attempt);
      finish(runNo, episodeNo, state, failure, now);
      return start;
    },
    requeue(runNo, { episodeNo, attempt }, failure, message, retryInMs) {
      const now = clock();
      endAttempt.run(now, "requeued", failure, message, runNo, episodeNo, attempt);
      makeReady.run(now + retryInMs, runNo, episodeNo);
    },
  };
}

function sweeping(database: DatabaseSync, clock: () => number): Pick<EpisodeStatements, "cancel" | "reap"> {
  const endAttempt = endingAttempt(database);
  const finish = finishing(database);
  const makeReady = makingReady(database);
  const selectOpen = database.prepare(
    "SELECT episode_no AS episodeNo, attempt_no AS attempt, state FROM episode WHERE run_no = ? AND group_no >= ?",
  );
  const selectLost = database.prepare(
    `SELECT episode_no AS episodeNo, attempt_no AS attempt, worker_id AS workerId FROM episode
     WHERE run_no = ? AND state = 'leased' AND (owner_token <> ? OR lease_until <= ?)`,
  );
  return {
    cancel(runNo, groupFrom) {
      const now = clock();
      const open = many<{ episodeNo: number; attempt: number; state: string }>(selectOpen, runNo, groupFrom);
      for (const { episodeNo, attempt, state } of open) {
        if (state === "leased") endAttempt.run(now, "cancelled", "cancelled", null, runNo, episodeNo, attempt);
        finish(runNo, episodeNo, "cancelled", "cancelled", now);
      }
      return open.length;
    },
    reap(runNo, ownerToken) {
      const now = clock();
      const lost = many<{ episodeNo: number; attempt: number; workerId: string }>(selectLost, runNo, ownerToken, now);
      for (const { episodeNo, attempt, workerId } of lost) {
        const message = `Worker ${workerId} is gone; its lease ended without a result.`;
        endAttempt.run(now, "lost", "worker_lost", message, runNo, episodeNo, attempt);
        makeReady.run(now, runNo, episodeNo);
      }
      return lost.length;
    },
  };
}

function counting(database: DatabaseSync): Pick<EpisodeStatements, "counts" | "attempts"> {
  const selectCounts = database.prepare(
    `SELECT state, count(*) AS count FROM episode WHERE run_no = ?1 AND (?2 IS NULL OR group_no <= ?2) GROUP BY state
     UNION ALL
     SELECT state, count(*) FROM finished WHERE run_no = ?1 AND (?2 IS NULL OR group_no <= ?2) GROUP BY state`,
  );
  const selectAttempts = database.prepare(
    `SELECT episode_no AS episodeNo, attempt_no AS attempt, fence, started_at AS startedAt, ended_at AS endedAt, failure, message
     FROM attempt WHERE run_no = ? AND episode_no = ? ORDER BY attempt_no`,
  );
  return {
    counts(runNo, groupTo) {
      const counts = { ready: 0, leased: 0, done: 0, failed: 0, cancelled: 0 };
      type Stored = { state: (typeof STATES)[number]; count: number };
      for (const { state, count } of many<Stored>(selectCounts, runNo, groupTo)) counts[state] = count;
      return counts;
    },
    attempts: (runNo, episodeNo) => many<AttemptRow>(selectAttempts, runNo, episodeNo),
  };
}

function endingAttempt(database: DatabaseSync): StatementSync {
  return database.prepare(
    "UPDATE attempt SET ended_at = ?, answer = ?, failure = ?, message = ? WHERE run_no = ? AND episode_no = ? AND attempt_no = ?",
  );
}

/** The next claim moves the fence on; until then nobody holds the episode. */
function makingReady(database: DatabaseSync): StatementSync {
  return database.prepare(
    `UPDATE episode SET state = 'ready', worker_id = NULL, owner_token = NULL, lease_until = NULL, not_before = ?
     WHERE run_no = ? AND episode_no = ?`,
  );
}

function finishing(database: DatabaseSync) {
  const insert = database.prepare(
    `INSERT INTO finished (run_no, episode_no, group_no, member, sampling_seed, state, attempt_no, fence, failure, finished_at)
     SELECT run_no, episode_no, group_no, member, sampling_seed, ?, attempt_no, fence, ?, ? FROM episode
     WHERE run_no = ? AND episode_no = ?`,
  );
  const remove = database.prepare("DELETE FROM episode WHERE run_no = ? AND episode_no = ?");
  return (runNo: number, episodeNo: number, state: FinalState, failure: FailureCode | null, now: number): void => {
    insert.run(state, failure, now, runNo, episodeNo);
    remove.run(runNo, episodeNo);
  };
}
