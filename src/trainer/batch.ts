/**
 * A batch is named by its content: the same trajectories with the same advantages are the same batch, in whatever
 * order they arrived, and its id is consumed by the trainer once.
 */
import { createHash, type Hash } from "node:crypto";
import type { BatchItem } from "../core/training.ts";

/**
 * SHA-256 in hex over ids, masks, log-probabilities, temperatures, versions, rewards, advantages (those of single tokens where there are
 * any), group and episode ids.
 * Groups and episodes are taken in the order of their ids; several sequences of one episode in the order given.
 */
export function batchId(items: readonly BatchItem[]): string {
  const ordered = [...items].sort((a, b) => compareText(a.groupId, b.groupId) || compareText(a.episodeId, b.episodeId));
  const hash = createHash("sha256");
  for (const item of ordered) {
    addText(hash, item.groupId);
    addText(hash, item.episodeId);
    addBytes(hash, Float64Array.of(item.reward, item.advantage, item.policyVersion, item.sequence.temperature));
    addBytes(hash, item.sequence.tokens);
    addBytes(hash, item.sequence.mask);
    addBytes(hash, item.sequence.logprobs);
    if (item.tokenAdvantages !== undefined) addBytes(hash, item.tokenAdvantages);
  }
  return hash.digest("hex");
}

/** By code unit: the order must not depend on the machine's language. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The length goes first, so that no two different lists of fields give the same bytes. */
function addText(hash: Hash, text: string): void {
  addBytes(hash, new TextEncoder().encode(text));
}

function addBytes(hash: Hash, values: Uint8Array | Int32Array | Float32Array | Float64Array): void {
  hash.update(new Uint8Array(Float64Array.of(values.byteLength).buffer));
  hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}
