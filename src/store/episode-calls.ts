/**
 * The store's calls on episodes: planning, leases, their ends, and what they left. An attempt's bytes are kept only
 * when its fence says that its result counts.
 */
import { Failure } from "../core/errors.ts";
import type { Store, StoredTrajectory } from "../core/store.ts";
import { checkIdentity, decodeDocument, type EncodedRecord, encodeRecord } from "./codec.ts";
import { parseSegment } from "./segment.ts";
import type { StoreParts } from "./store-parts.ts";
import type { TrajectoryPlace } from "./trajectory-statements.ts";

type EpisodeCall =
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

export function episodeCalls(parts: StoreParts): Pick<Store, EpisodeCall> {
  const { token, runs, episodes, trajectories } = parts;
  return {
    plan: (runId, groups) => parts.write({ apply: () => episodes.plan(runs.numberOf(runId), groups) }),
    claim: (request) => parts.write({ apply: () => episodes.claim(runs.numberOf(request.runId), request, token) }),
    commit: (request) => commit(parts, request),
    release: (request) => release(parts, request),
    cancel: (runId, { groupFrom = 0 } = {}) =>
      parts.write({ apply: () => episodes.cancel(runs.numberOf(runId), groupFrom) }),
    reap: (runId) => parts.write({ apply: () => episodes.reap(runs.numberOf(runId), token) }),
    counts: (runId, { groupTo } = {}) => parts.read(() => episodes.counts(runs.numberOf(runId), groupTo ?? null)),
    episodes: (runId, filter = {}) => parts.read(() => trajectories.rows(runId, runs.numberOf(runId), filter)),
    attempts: (runId, episodeNo) => parts.read(() => episodes.attempts(runs.numberOf(runId), episodeNo)),
    trajectory: (runId, episodeNo) => storedTrajectory(parts, runId, episodeNo),
  };
}

async function commit(parts: StoreParts, { lease, record }: Parameters<Store["commit"]>[0]) {
  const { runs, episodes, trajectories, findings } = parts;
  const runNo = runs.numberOf(lease.runId);
  const encoded = encodeRecord(record);
  checkIdentity(record.document, lease);
  const { outcome } = record.document;
  const state = outcome.kind === "graded" ? "done" : outcome.kind;
  const failure = outcome.kind === "failed" ? outcome.failure : null;
  return parts.write<"accepted" | "superseded">({
    contents: encoded.contents,
    isWanted: () => episodes.holds(runNo, lease),
    apply: (stored) => {
      if (!episodes.holds(runNo, lease)) {
        return episodes.answer(runNo, lease) === "accepted" ? "accepted" : "superseded";
      }
      if (stored === null) throw new Failure("unexpected", "A wanted record was not packed.");
      const { startedAt } = episodes.close(runNo, lease, { state, answer: "accepted", failure, message: null });
      trajectories.insert(runNo, lease.episodeNo, encoded, stored.pack, startedAt);
      findings.add(runNo, lease.episodeNo, record.findings);
      return "accepted";
    },
  });
}

async function release(parts: StoreParts, request: Parameters<Store["release"]>[0]) {
  const { runs, episodes, trajectories, findings } = parts;
  const { lease, failure, message, retryInMs, record } = request;
  const runNo = runs.numberOf(lease.runId);
  const encoded = record !== null && retryInMs === null ? encodePartial(record, lease) : null;
  return parts.write<"requeued" | "closed" | "superseded">({
    contents: encoded?.contents ?? [],
    isWanted: () => episodes.holds(runNo, lease),
    apply: (stored) => {
      if (!episodes.holds(runNo, lease)) {
        const first = episodes.answer(runNo, lease);
        return first === "requeued" || first === "closed" ? first : "superseded";
      }
      if (retryInMs !== null) {
        episodes.requeue(runNo, lease, failure, message, retryInMs);
        return "requeued";
      }
      const { startedAt } = episodes.close(runNo, lease, { state: "failed", answer: "closed", failure, message });
      if (encoded !== null && stored !== null) {
        trajectories.insert(runNo, lease.episodeNo, encoded, stored.pack, startedAt);
        findings.add(runNo, lease.episodeNo, record?.findings ?? []);
      }
      return "closed";
    },
  });
}

/** A failure can never bring a reward into the books, whatever its record says. */
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

async function storedTrajectory(parts: StoreParts, runId: string, episodeNo: number): Promise<StoredTrajectory | null> {
  const { bytes, runs, trajectories } = parts;
  const find = (): Promise<TrajectoryPlace | null> =>
    parts.read(() => trajectories.place(runs.numberOf(runId), episodeNo));
  const first = await find();
  if (first === null) return null;

  let place = first;
  const content = async (hash: string): Promise<Uint8Array> => {
    const asked = place;
    try {
      return await bytes.get(asked.pack, hash);
    } catch (error) {
      // The owner may have merged the pack since its row was read; the row then names another.
      const now = await find();
      if (now === null || now.pack.key === asked.pack.key) throw error;
      place = now;
      return bytes.get(place.pack, hash);
    }
  };
  const document = decodeDocument(await content(first.documentHash));
  const { segmentHash } = first;
  return {
    document,
    body: content,
    segment: async () => (segmentHash === null ? null : parseSegment(await content(segmentHash))),
  };
}
