/** The statements on runs. Callers hold the transaction. */
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import type { RunKind, RunRow, RunState, Store } from "../core/store.ts";
import { many, one } from "./database.ts";
import { liveOwner, type Owner } from "./owner.ts";

const COLUMNS = `run_id AS runId, kind, state, reason, name, created_at AS createdAt, updated_at AS updatedAt,
  recipe_hash AS recipeHash, config, step, policy_version AS policyVersion, summary, owner_token AS ownerToken`;

interface StoredRun extends Omit<RunRow, "owner"> {
  readonly kind: RunKind;
  readonly state: RunState;
  readonly ownerToken: string | null;
}

export interface RunStatements {
  create(run: Parameters<Store["createRun"]>[0]): void;
  update(runId: string, change: Parameters<Store["updateRun"]>[1]): void;
  one(runId: string): RunRow | null;
  all(): readonly RunRow[];
  /** Marks the run as this owner's; the caller owns the folder, so no other process has it. */
  acquire(runId: string, token: string): void;
  /** The number rows of other tables name a run by. Throws `not_found`. */
  numberOf(runId: string): number;
}

export function runStatements(database: DatabaseSync, clock: () => number): RunStatements {
  const select = database.prepare(`SELECT ${COLUMNS} FROM run WHERE run_id = ?`);
  const selectAll = database.prepare(`SELECT ${COLUMNS} FROM run ORDER BY created_at DESC, run_no DESC`);
  const selectNumber = database.prepare("SELECT run_no AS runNo FROM run WHERE run_id = ?");
  const numbers = new Map<string, number>();

  const statements: RunStatements = {
    create(run) {
      if (one(select, run.runId) !== null) {
        throw new Failure("request_invalid", `Run ${run.runId} exists already; each run has an id of its own.`);
      }
      database
        .prepare(
          `INSERT INTO run (run_id, kind, state, name, created_at, updated_at, recipe_hash, config)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(run.runId, run.kind, run.state, run.name, run.createdAt, clock(), run.recipeHash, run.config);
    },
    update(runId, change) {
      const runNo = statements.numberOf(runId);
      const set = (column: string, value: string | number | null | undefined): void => {
        if (value === undefined) return;
        database.prepare(`UPDATE run SET ${column} = ?, updated_at = ? WHERE run_no = ?`).run(value, clock(), runNo);
      };
      set("state", change.state);
      set("reason", change.reason);
      set("summary", change.summary);
      set("policy_version", change.policyVersion);
    },
    one(runId) {
      const row = one<StoredRun>(select, runId);
      return row === null ? null : withOwner(row, liveOwner(database));
    },
    all() {
      const owner = liveOwner(database);
      return many<StoredRun>(selectAll).map((row) => withOwner(row, owner));
    },
    acquire(runId, token) {
      const runNo = statements.numberOf(runId);
      database.prepare("UPDATE run SET owner_token = ?, updated_at = ? WHERE run_no = ?").run(token, clock(), runNo);
    },
    numberOf(runId) {
      const known = numbers.get(runId);
      if (known !== undefined) return known;
      const row = one<{ runNo: number }>(selectNumber, runId);
      if (row === null) {
        throw new Failure("not_found", `There is no run ${runId} here; \`sandlot run list\` shows those there are.`);
      }
      numbers.set(runId, row.runNo);
      return row.runNo;
    },
  };
  return statements;
}

function withOwner({ ownerToken, ...row }: StoredRun, owner: Owner | null): RunRow {
  const isHeld = owner !== null && owner.token === ownerToken;
  return { ...row, owner: isHeld ? { pid: owner.pid, since: owner.since } : null };
}
