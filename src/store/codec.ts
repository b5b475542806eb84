/**
 * A trajectory record as contents of a pack, and back. The document is canonical JSON, so that equal records hash
 * equally; what breaks an invariant is refused with `record_invalid` and never repaired. Records of an older schema
 * are upgraded when read; one of a newer major is refused.
 */
import { Failure } from "../core/errors.ts";
import { canonicalJson } from "../core/json.ts";
import { namedBodies } from "../core/named-bodies.ts";
import type { Lease } from "../core/store.ts";
import { TRAJECTORY_SCHEMA_VERSION, type Trajectory, type TrajectoryRecord } from "../core/trajectory.ts";
import { type Content, sha256 } from "./pack.ts";
import { checkSegment, sampledCount, segmentBytes } from "./segment.ts";
import { upgradeMinor } from "./upgrade-minor.ts";

/** A record ready to be stored: its contents, and the hashes its row names. */
export interface EncodedRecord {
  readonly document: Trajectory;
  readonly contents: readonly Content[];
  readonly documentHash: string;
  readonly segmentHash: string | null;
}

/** Throws `record_invalid` naming the field that breaks an invariant. */
export function encodeRecord(record: TrajectoryRecord): EncodedRecord {
  const { document, bodies, segment } = record;
  checkDocument(document);
  checkBodies(record);
  checkTokens(record);
  const documentBytes = Buffer.from(documentJson(document));
  const documentHash = sha256(documentBytes);
  const contents: Content[] = [{ hash: documentHash, kind: "document", bytes: documentBytes }];
  let segmentHash: string | null = null;
  if (segment !== null) {
    const bytes = segmentBytes(segment);
    segmentHash = sha256(bytes);
    contents.push({ hash: segmentHash, kind: "segment", bytes });
  }
  for (const [hash, bytes] of bodies) contents.push({ hash, kind: "body", bytes });
  return { document, contents, documentHash, segmentHash };
}

/** Throws `record_invalid` when the document belongs to another episode, attempt or fence than the lease. */
export function checkIdentity(
  document: Trajectory,
  lease: Pick<Lease, "runId" | "episodeNo" | "attempt" | "fence">,
): void {
  const expected = {
    id: `${lease.runId}-${lease.episodeNo}`,
    runId: lease.runId,
    attempt: lease.attempt,
    fence: lease.fence,
  };
  for (const field of ["id", "runId", "attempt", "fence"] as const) {
    if (document[field] !== expected[field]) {
      throw invalid(document, `${field} is ${document[field]}, but its lease says ${expected[field]}`);
    }
  }
}

function checkDocument(document: Trajectory): void {
  if (document.schemaVersion !== TRAJECTORY_SCHEMA_VERSION) {
    throw invalid(
      document,
      `schemaVersion is ${document.schemaVersion}; this Sandlot writes ${TRAJECTORY_SCHEMA_VERSION}`,
    );
  }
  const { outcome } = document;
  if (outcome.kind === "graded" && !Number.isFinite(outcome.reward)) {
    throw invalid(document, `outcome.reward is ${outcome.reward}; a graded episode has a finite reward`);
  }
  if (outcome.kind !== "graded" && "reward" in outcome) {
    throw invalid(
      document,
      `outcome.reward exists, but the outcome is ${outcome.kind}; only a graded episode has a reward`,
    );
  }
  for (const [position, turn] of document.turns.entries()) {
    if (turn.index !== position + 1) {
      throw invalid(document, `turns[${position}].index is ${turn.index}; turns count from 1 without gaps`);
    }
  }
}

/** Each body is what its hash says, and each hash the document names has its body. */
function checkBodies({ document, bodies }: TrajectoryRecord): void {
  for (const [hash, bytes] of bodies) {
    const actual = sha256(bytes);
    if (actual !== hash) throw invalid(document, `the body named ${hash} has SHA-256 ${actual}`);
  }
  for (const [field, hash] of namedBodies(document)) {
    if (!bodies.has(hash)) throw invalid(document, `${field} names body ${hash}, which is not among its bodies`);
  }
}

function checkTokens({ document, segment }: TrajectoryRecord): void {
  if (segment === null) {
    if (document.tokens !== null) throw invalid(document, "tokens is set, but there is no token segment");
    return;
  }
  checkSegment(segment, `episode ${document.id}`, document.turns.length);
  const counted = { count: segment.ids.length, sampledCount: sampledCount(segment) };
  for (const field of ["count", "sampledCount"] as const) {
    if (document.tokens?.[field] !== counted[field]) {
      throw invalid(document, `tokens.${field} is ${document.tokens?.[field]}, but its segment says ${counted[field]}`);
    }
  }
}

function documentJson(document: Trajectory): string {
  try {
    return canonicalJson(document);
  } catch (error) {
    throw new Failure(
      "record_invalid",
      `Record of episode ${document.id}: it cannot be written as JSON (${error instanceof Error ? error.message : error}).`,
      { cause: error },
    );
  }
}

type Upgrade = (older: Record<string, unknown>) => Record<string, unknown>;

/** From each older major to the next. */
const UPGRADES: ReadonlyMap<number, Upgrade> = new Map();

/**
 * The document in the present schema: what an older minor did not have yet is filled in as absent, and fields that a
 * newer one added are kept.
 * Throws `record_invalid` when the bytes are no document or one of a newer major, naming both versions.
 */
export function decodeDocument(bytes: Uint8Array, upgrades: ReadonlyMap<number, Upgrade> = UPGRADES): Trajectory {
  let document: Record<string, unknown>;
  try {
    document = JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>;
  } catch (error) {
    throw new Failure("record_invalid", "A stored trajectory document is not JSON.", { cause: error });
  }
  const version = /^(\d+)\.(\d+)$/.exec(String(document["schemaVersion"]));
  if (version === null) {
    throw new Failure(
      "record_invalid",
      `A stored trajectory has schemaVersion ${document["schemaVersion"]}, not major.minor.`,
    );
  }
  const present = Number(TRAJECTORY_SCHEMA_VERSION.split(".")[0]);
  const major = Number(version[1]);
  if (major > present) {
    throw new Failure(
      "record_invalid",
      `Trajectory ${document["id"]} has schema version ${version[0]}; this Sandlot reads up to ${TRAJECTORY_SCHEMA_VERSION}. Use the newer Sandlot that wrote it.`,
    );
  }
  for (let from = major; from < present; from += 1) {
    const upgrade = upgrades.get(from);
    if (upgrade === undefined) {
      throw new Failure(
        "record_invalid",
        `Trajectory ${document["id"]} has schema version ${version[0]}, from which there is no upgrade to ${TRAJECTORY_SCHEMA_VERSION}.`,
      );
    }
    document = upgrade(document);
  }
  return upgradeMinor(document) as unknown as Trajectory;
}

function invalid(document: Trajectory, problem: string): Failure {
  return new Failure("record_invalid", `Record of episode ${document.id}: ${problem}.`);
}
