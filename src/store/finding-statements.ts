/** The statements on findings and on what persons decided on them. Callers hold the transaction. */
import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import type { Finding, FindingRow } from "../core/finding.ts";
import { canonicalJson } from "../core/json.ts";
import type { FindingFilter, QuarantinedTask, Review, ReviewRow } from "../core/store.ts";
import { many, one } from "./database.ts";

export interface FindingStatements {
  /** Adds those whose content is not there yet; gives how many. Throws `not_found` where the episode has no record. */
  add(runNo: number, episodeNo: number, findings: readonly Finding[]): number;
  /** `runNo` null means every run. */
  rows(runNo: number | null, filter: FindingFilter): FindingRow[];
  one(findingId: string): { readonly row: FindingRow; readonly reviews: readonly ReviewRow[] } | null;
  /** Throws `not_found` and `request_invalid`. */
  review(findingId: string, review: Review): void;
  quarantinedTasks(runNo: number): QuarantinedTask[];
}

const ROWS = `SELECT f.finding_no AS findingNo, r.run_id || '-' || f.episode_no || '-' || f.content_key AS findingId,
    r.run_id AS runId, f.episode_no AS episodeNo, g.task_key AS taskKey, t.policy_version_last AS policyVersion,
    f.detector, f.detector_version AS detectorVersion, f.tier, f.pattern, f.effect, f.is_punished AS isPunished,
    f.summary, f.turn, f.file, f.line, f.evidence, f.found_at AS foundAt,
    coalesce(v.decision, 'open') AS review, v.author AS reviewedBy, v.decided_at AS reviewedAt, v.reason AS reviewReason
  FROM finding f
  JOIN run r ON r.run_no = f.run_no
  JOIN trajectory t ON t.run_no = f.run_no AND t.episode_no = f.episode_no
  JOIN finished e ON e.run_no = f.run_no AND e.episode_no = f.episode_no
  JOIN episode_group g ON g.run_no = e.run_no AND g.group_no = e.group_no
  LEFT JOIN review v ON v.review_no = (SELECT max(review_no) FROM review WHERE review.finding_no = f.finding_no)`;

const FILTER = `WHERE (?1 IS NULL OR f.run_no = ?1) AND (?2 IS NULL OR f.episode_no = ?2)
    AND (?3 IS NULL OR e.group_no >= ?3) AND (?4 IS NULL OR e.group_no <= ?4) AND (?5 IS NULL OR f.tier = ?5)
    AND (?6 IS NULL OR coalesce(v.decision, 'open') = ?6)
  ORDER BY f.run_no, f.episode_no, f.tier, f.finding_no LIMIT ?7`;

type StoredFinding = Omit<FindingRow, "isPunished" | "evidence"> & {
  readonly findingNo: number;
  readonly isPunished: number;
  readonly evidence: string;
};

export function findingStatements(database: DatabaseSync, clock: () => number): FindingStatements {
  const selectRows = database.prepare(`${ROWS} ${FILTER}`);
  const selectOne = database.prepare(
    `${ROWS} WHERE f.content_key = ?1 AND r.run_id || '-' || f.episode_no || '-' || f.content_key = ?2`,
  );
  const selectReviews = database.prepare(
    "SELECT decision, author, reason, decided_at AS decidedAt FROM review WHERE finding_no = ? ORDER BY review_no",
  );
  const insertReview = database.prepare(
    "INSERT INTO review (finding_no, decision, author, reason, decided_at) VALUES (?, ?, ?, ?, ?)",
  );
  const find = (findingId: string): StoredFinding | null =>
    one<StoredFinding>(selectOne, findingId.slice(findingId.lastIndexOf("-") + 1), findingId);
  return {
    ...adding(database, clock),
    rows: (runNo, { episodeNo, groupFrom, groupTo, tier, review, limit }) => {
      const filter = [runNo, episodeNo, groupFrom, groupTo, tier, review].map((value) => value ?? null);
      return many<StoredFinding>(selectRows, ...filter, limit ?? -1).map(findingRow);
    },
    one(findingId) {
      const stored = find(findingId);
      if (stored === null) return null;
      return { row: findingRow(stored), reviews: many<ReviewRow>(selectReviews, stored.findingNo) };
    },
    review(findingId, { decision, author, reason }) {
      const stored = find(findingId);
      if (stored === null) {
        throw new Failure(
          "not_found",
          `There is no finding ${findingId}; \`sandlot finding list RUN\` shows those there are.`,
        );
      }
      if (author.trim() === "" || reason.trim() === "") {
        throw new Failure("request_invalid", "A decision on a finding needs an author and a reason.");
      }
      insertReview.run(stored.findingNo, decision, author, reason, clock());
    },
    quarantinedTasks: quarantining(database),
  };
}

function adding(database: DatabaseSync, clock: () => number): Pick<FindingStatements, "add"> {
  const insert = database.prepare(
    `INSERT INTO finding (run_no, episode_no, content_key, detector, detector_version, tier, pattern, effect,
       is_punished, summary, turn, file, line, evidence, found_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_no, episode_no, content_key) DO NOTHING`,
  );
  const selectRecord = database.prepare("SELECT 1 AS found FROM trajectory WHERE run_no = ? AND episode_no = ?");
  return {
    add(runNo, episodeNo, findings) {
      if (findings.length === 0) return 0;
      if (one(selectRecord, runNo, episodeNo) === null) {
        throw new Failure("not_found", `Episode ${episodeNo} has no record to hold findings.`);
      }
      let added = 0;
      for (const finding of findings) {
        const { detector, detectorVersion, tier, pattern, effect, isPunished, summary, turn, file, line } = finding;
        const evidence = JSON.stringify(finding.evidence);
        const key = contentKey(runNo, episodeNo, finding);
        added += Number(
          insert.run(
            ...[runNo, episodeNo, key, detector, detectorVersion, tier, pattern, effect],
            ...[isPunished ? 1 : 0, summary, turn, file, line, evidence, clock()],
          ).changes,
        );
      }
      return added;
    },
  };
}

/** What a finding says and of whom, without the version of who said it: a newer detector that says the same adds nothing. */
function contentKey(runNo: number, episodeNo: number, { detectorVersion: _version, ...said }: Finding): string {
  return hash("sha256", canonicalJson([runNo, episodeNo, said]), "hex").slice(0, 12);
}

function findingRow({ findingNo: _no, isPunished, evidence, ...row }: StoredFinding): FindingRow {
  return { ...row, isPunished: isPunished === 1, evidence: JSON.parse(evidence) as string[] };
}

function quarantining(database: DatabaseSync): FindingStatements["quarantinedTasks"] {
  const select = database.prepare(
    `SELECT g.task_key AS taskKey, 'verdict_unstable' AS reason, r.run_id AS runId, min(e.episode_no) AS episodeNo
     FROM finished e JOIN episode_group g USING (run_no, group_no) JOIN run r ON r.run_no = e.run_no
     WHERE e.run_no = ?1 AND e.failure = 'verdict_unstable' GROUP BY g.task_key
     UNION ALL
     SELECT g.task_key, 'task-defect', r.run_id, min(f.episode_no)
     FROM finding f JOIN review v ON v.review_no = (SELECT max(review_no) FROM review WHERE review.finding_no = f.finding_no)
     JOIN finished e ON e.run_no = f.run_no AND e.episode_no = f.episode_no
     JOIN episode_group g ON g.run_no = e.run_no AND g.group_no = e.group_no JOIN run r ON r.run_no = f.run_no
     WHERE v.decision = 'task-defect' GROUP BY g.task_key, r.run_id
     ORDER BY 1, 2`,
  );
  return (runNo) => many<QuarantinedTask>(select, runNo);
}
