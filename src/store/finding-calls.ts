/** The store's calls on findings, on reviews, and on verdicts given later. */
import type { Store } from "../core/store.ts";
import type { StoreParts } from "./store-parts.ts";

type FindingCall =
  | "addFindings"
  | "findings"
  | "finding"
  | "review"
  | "quarantinedTasks"
  | "addRegrades"
  | "regrades"
  | "adoptRegrade";

export function findingCalls(parts: StoreParts): Pick<Store, FindingCall> {
  const { runs, findings, regrades } = parts;
  return {
    addFindings: (runId, episodeNo, found) =>
      parts.write({ apply: () => findings.add(runs.numberOf(runId), episodeNo, found) }),
    findings: (filter = {}) =>
      parts.read(() => findings.rows(filter.runId === undefined ? null : runs.numberOf(filter.runId), filter)),
    finding: (findingId) => parts.read(() => findings.one(findingId)),
    review: (findingId, review) => parts.write({ apply: () => findings.review(findingId, review) }),
    quarantinedTasks: (runId) => parts.read(() => findings.quarantinedTasks(runs.numberOf(runId))),
    addRegrades: (runId, regradeId, rows) =>
      parts.write({ apply: () => regrades.add(runs.numberOf(runId), regradeId, rows) }),
    regrades: (runId, episodeNo) => parts.read(() => regrades.rows(runId, runs.numberOf(runId), episodeNo ?? null)),
    adoptRegrade: (runId, regradeId) => parts.write({ apply: () => regrades.adopt(runs.numberOf(runId), regradeId) }),
  };
}
