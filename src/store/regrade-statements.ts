/** The statements on verdicts given later, beside those the episodes ended with. Callers hold the transaction. */
import type { DatabaseSync } from "node:sqlite";
import { Failure, type FailureCode } from "../core/errors.ts";
import type { Regrade, RegradeRow } from "../core/store.ts";
import type { Verdict } from "../core/verifier.ts";
import { many, one } from "./database.ts";

export interface RegradeStatements {
  /** What a regrade has said of an episode stays; saying it again changes nothing. */
  add(runNo: number, regradeId: string, regrades: readonly Regrade[]): void;
  rows(runId: string, runNo: number, episodeNo: number | null): RegradeRow[];
  /** Throws `not_found` for a regrade without verdicts. */
  adopt(runNo: number, regradeId: string): number;
}

interface StoredRegrade {
  readonly episodeNo: number;
  readonly regradeId: string;
  readonly verifierHash: string;
  readonly reward: number | null;
  readonly verdict: string | null;
  readonly failure: FailureCode | null;
  readonly message: string | null;
  readonly gradedAt: number;
  readonly isAdopted: number;
}

export function regradeStatements(database: DatabaseSync, clock: () => number): RegradeStatements {
  const insert = database.prepare(
    `INSERT INTO verdict_history (run_no, episode_no, regrade_id, verifier_hash, reward, verdict, failure, message, graded_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_no, regrade_id, episode_no) DO NOTHING`,
  );
  const select = database.prepare(
    `SELECT episode_no AS episodeNo, regrade_id AS regradeId, verifier_hash AS verifierHash, reward, verdict, failure,
       message, graded_at AS gradedAt,
       regrade_id IS (SELECT regrade_id FROM adoption a WHERE a.run_no = h.run_no ORDER BY adoption_no DESC LIMIT 1) AS isAdopted
     FROM verdict_history h WHERE run_no = ?1 AND (?2 IS NULL OR episode_no = ?2) ORDER BY verdict_no`,
  );
  const count = database.prepare(
    "SELECT count(*) AS count FROM verdict_history WHERE run_no = ? AND regrade_id = ? AND reward IS NOT NULL",
  );
  const adopt = database.prepare("INSERT INTO adoption (run_no, regrade_id, adopted_at) VALUES (?, ?, ?)");
  return {
    add(runNo, regradeId, regrades) {
      for (const { episodeNo, verifierHash, reward, verdict, failure } of regrades) {
        const said = verdict === null ? null : JSON.stringify(verdict);
        const { code = null, message = null } = failure ?? {};
        insert.run(runNo, episodeNo, regradeId, verifierHash, reward, said, code, message, clock());
      }
    },
    rows: (runId, runNo, episodeNo) =>
      many<StoredRegrade>(select, runNo, episodeNo).map(({ verdict, failure, message, isAdopted, ...row }) => ({
        runId,
        ...row,
        verdict: verdict === null ? null : (JSON.parse(verdict) as Verdict),
        failure: failure === null ? null : { code: failure, message: message ?? "" },
        isAdopted: isAdopted === 1,
      })),
    adopt(runNo, regradeId) {
      const episodes = one<{ count: number }>(count, runNo, regradeId)?.count ?? 0;
      if (episodes === 0)
        throw new Failure("not_found", `There is no regrade ${regradeId} of this run with any verdict.`);
      adopt.run(runNo, regradeId, clock());
      return episodes;
    },
  };
}
