/** The statements on optimizer steps and on metric points. Callers hold the transaction. */
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import type { MetricPoint, StepCommit } from "../core/store.ts";
import { many, one } from "./database.ts";

export interface StepStatements {
  /** Repeating the same step does nothing. Throws `superseded` when its step, batch or a group is taken by another. */
  commit(runNo: number, step: StepCommit): void;
  /** The run stands again where it stood after `step`; before its first step its policy version is 0. */
  rollBack(runNo: number, step: number): void;
  all(runId: string, runNo: number): StepCommit[];
}

interface StoredStep {
  readonly stepNo: number;
  readonly step: number;
  readonly batchId: string;
  readonly policyVersion: number;
  readonly weightsSha256: string;
}

export function stepStatements(database: DatabaseSync, clock: () => number): StepStatements {
  const columns =
    "step_no AS stepNo, step, batch_id AS batchId, policy_version AS policyVersion, weights_sha256 AS weightsSha256";
  const selectRivals = database.prepare(
    `SELECT ${columns} FROM step WHERE run_no = ? AND rolled_back_at IS NULL AND (step = ? OR batch_id = ?)`,
  );
  const selectAll = database.prepare(
    `SELECT ${columns} FROM step WHERE run_no = ? AND rolled_back_at IS NULL ORDER BY step`,
  );
  const selectGroups = database.prepare(
    "SELECT group_no AS groupNo FROM batch_step WHERE step_no = ? ORDER BY position",
  );
  const selectGroupUse = database.prepare(
    `SELECT s.step FROM batch_step b JOIN step s USING (step_no)
     WHERE b.run_no = ? AND b.group_no = ? AND b.rolled_back_at IS NULL`,
  );
  const insertStep = database.prepare(
    `INSERT INTO step (run_no, step, batch_id, policy_version, weights_sha256, taken_at) VALUES (?, ?, ?, ?, ?, ?)
     RETURNING step_no AS stepNo`,
  );
  const insertGroup = database.prepare(
    "INSERT INTO batch_step (step_no, position, run_no, group_no) VALUES (?, ?, ?, ?)",
  );
  const advanceRun = database.prepare("UPDATE run SET step = ?, policy_version = ?, updated_at = ? WHERE run_no = ?");

  const groupsOf = (stepNo: number): number[] =>
    many<{ groupNo: number }>(selectGroups, stepNo).map(({ groupNo }) => groupNo);

  return {
    commit(runNo, { step, batchId, groupNos, policyVersion, weightsSha256 }) {
      for (const rival of many<StoredStep>(selectRivals, runNo, step, batchId)) {
        const isSame =
          rival.step === step && rival.batchId === batchId && `${groupsOf(rival.stepNo)}` === `${groupNos}`;
        if (isSame && rival.policyVersion === policyVersion && rival.weightsSha256 === weightsSha256) return;
        throw new Failure(
          "superseded",
          `Step ${step} with batch ${batchId} cannot be taken: step ${rival.step} was taken with batch ${rival.batchId}, and each is taken once.`,
        );
      }
      for (const groupNo of groupNos) {
        const used = one<{ step: number }>(selectGroupUse, runNo, groupNo);
        if (used !== null) {
          throw new Failure(
            "superseded",
            `Group ${groupNo} was trained on in step ${used.step}; step ${step} cannot use it again.`,
          );
        }
      }
      const row = one<{ stepNo: number }>(insertStep, runNo, step, batchId, policyVersion, weightsSha256, clock());
      if (row === null) throw new Failure("unexpected", `Step ${step} got no row.`);
      for (const [position, groupNo] of groupNos.entries()) insertGroup.run(row.stepNo, position, runNo, groupNo);
      advanceRun.run(step, policyVersion, clock(), runNo);
    },
    rollBack(runNo, step) {
      const now = clock();
      database
        .prepare(
          `UPDATE batch_step SET rolled_back_at = ?1 WHERE rolled_back_at IS NULL AND step_no IN
           (SELECT step_no FROM step WHERE run_no = ?2 AND step > ?3 AND rolled_back_at IS NULL)`,
        )
        .run(now, runNo, step);
      database
        .prepare("UPDATE step SET rolled_back_at = ?1 WHERE run_no = ?2 AND step > ?3 AND rolled_back_at IS NULL")
        .run(now, runNo, step);
      database
        .prepare(
          `UPDATE run SET step = min(step, ?1), updated_at = ?2,
             policy_version = coalesce((SELECT s.policy_version FROM step s
               WHERE s.run_no = run.run_no AND s.rolled_back_at IS NULL ORDER BY s.step DESC LIMIT 1), 0)
           WHERE run_no = ?3`,
        )
        .run(step, now, runNo);
    },
    all: (runId, runNo) =>
      many<StoredStep>(selectAll, runNo).map(({ stepNo, ...step }) => ({ runId, ...step, groupNos: groupsOf(stepNo) })),
  };
}

export interface MetricStatements {
  add(runNo: number, points: readonly MetricPoint[]): void;
  /** By id, then by step. */
  points(runNo: number, ids: readonly string[] | null): MetricPoint[];
}

export function metricStatements(database: DatabaseSync): MetricStatements {
  const upsert = database.prepare(
    `INSERT INTO metric_point (run_no, id, step, value, non_finite) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (run_no, id, step) DO UPDATE SET value = excluded.value, non_finite = excluded.non_finite`,
  );
  const select = database.prepare(
    `SELECT id, step, value, non_finite AS nonFinite FROM metric_point
     WHERE run_no = ? AND (?2 IS NULL OR id IN (SELECT value FROM json_each(?2))) ORDER BY id, step`,
  );
  return {
    add(runNo, points) {
      for (const { id, step, value } of points) {
        const isNumber = Number.isFinite(value);
        upsert.run(runNo, id, step, isNumber ? value : null, isNumber ? null : String(value));
      }
    },
    points(runNo, ids) {
      type Stored = { id: string; step: number; value: number | null; nonFinite: string | null };
      return many<Stored>(select, runNo, ids === null ? null : JSON.stringify(ids)).map(
        ({ id, step, value, nonFinite }) => ({ id, step, value: value ?? Number(nonFinite) }),
      );
    },
  };
}
