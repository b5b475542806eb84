/**
 * Documents of older minors of schema 1, brought to the present one: what they did not have yet is filled in as absent,
 * never guessed, so that the rest of the code meets one shape.
 */
import { TRAJECTORY_SCHEMA_VERSION } from "../core/trajectory.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Pure. A document of the present minor, or of a newer one, is returned as it is. */
export function upgradeMinor(document: Record<string, unknown>): Record<string, unknown> {
  return document["schemaVersion"] === "1.0" ? from10(document) : document;
}

/** 1.1 added the evidence, what collecting met, milestones, and the parts of a verdict. */
function from10(document: Record<string, unknown>): Record<string, unknown> {
  const { turns, verification, outcome, extra } = document as {
    turns?: readonly Fields[];
    verification?: Fields | null;
    outcome?: { readonly reward?: unknown };
    extra?: { readonly artifactsMissing?: unknown };
  };
  const absent = { extraTests: [], measures: [], judge: null, visible: null, isVetoed: false };
  return {
    collected: verification ? { missing: extra?.artifactsMissing ?? [], visible: [], refused: [] } : null,
    evidenceBlob: null,
    placed: [],
    ...document,
    schemaVersion: TRAJECTORY_SCHEMA_VERSION,
    turns: (turns ?? []).map((turn) => ({ milestones: null, layerBlob: null, ...turn })),
    // The total was the reward, but for faults of the policy, which had earned 0.
    verification: verification ? { total: outcome?.reward ?? 0, ...absent, ...verification } : null,
  };
}
