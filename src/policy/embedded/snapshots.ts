/**
 * The shelf of immutable weights. It has a fixed number of places, taken at open. When all are full the snapshot used
 * longest ago makes room; one that is being sampled from, and a reference (taken as one, or ever scored under), stay, as
 * long as two places are left for the newest.
 */
import { createHash } from "node:crypto";
import { Failure } from "../../core/errors.ts";
import type { PolicySnapshot } from "../../core/policy-backend.ts";
import type { Engine } from "./engine.ts";

interface Held {
  readonly snapshot: PolicySnapshot;
  readonly index: number;
  lastUse: number;
  users: number;
  isReference: boolean;
}

export interface SnapshotShelf {
  /**
   * Copies the live weights. Equal weights under one version give the same snapshot. Throws `policy_mismatch` when the
   * version was sampled or scored with other weights before, `policy_not_finite` when a weight is not finite.
   */
  take(version: number, options?: { readonly isReference?: boolean }): Promise<PolicySnapshot>;
  /** Lends a snapshot's place; it cannot make room until `use` settles. Throws `not_found` when it is no longer held. */
  lend<T>(snapshot: PolicySnapshot, as: "sampler" | "reference", use: (index: number) => Promise<T>): Promise<T>;
  /** Makes room at once, without forgetting which weights its version named. */
  drop(snapshot: PolicySnapshot): void;
}

/** SHA-256 of flat weights, little-endian, as snapshots and checkpoints state it. */
export function weightsSha256(flat: Float32Array): string {
  return createHash("sha256")
    .update(new Uint8Array(flat.buffer, flat.byteOffset, flat.byteLength))
    .digest("hex");
}

export function snapshotShelf(engine: Engine, tokenizerSha256: string): SnapshotShelf {
  const capacity = engine.config.snapshots;
  const held = new Map<string, Held>();
  const usedHashes = new Map<number, string>();
  let clock = 0;

  /** Places are given out inside the engine's lane, one at a time. */
  const freePlace = (): number => {
    const taken = new Set([...held.values()].map((entry) => entry.index));
    const free = Array.from({ length: capacity }, (_unused, index) => index).find((index) => !taken.has(index));
    if (free !== undefined) return free;
    const references = [...held.values()].filter((entry) => entry.isReference).length;
    const candidates = [...held.values()]
      .filter((entry) => entry.users === 0 && (!entry.isReference || references > capacity - 2))
      .sort((a, b) => a.lastUse - b.lastUse);
    const oldest = candidates[0];
    if (oldest === undefined) {
      throw new Failure(
        "request_invalid",
        `All ${capacity} snapshots the engine can hold are being sampled from; wait for samples to end before the next.`,
      );
    }
    held.delete(oldest.snapshot.id);
    return oldest.index;
  };

  const find = (snapshot: PolicySnapshot): Held => {
    const entry = held.get(snapshot.id);
    if (entry === undefined) {
      throw new Failure(
        "not_found",
        `Snapshot ${snapshot.id} (version ${snapshot.version}) is no longer held: the engine keeps ${capacity}, and the ` +
          "one used longest ago makes room. Load its checkpoint and take it again.",
      );
    }
    return entry;
  };

  return {
    take: (version, { isReference = false } = {}) =>
      engine.use(async (addon, handle) => {
        const flat = new Float32Array(engine.parameters);
        addon.copy(handle, 0, flat, false);
        const sha256 = weightsSha256(flat);
        const used = usedHashes.get(version);
        if (used !== undefined && used !== sha256) {
          throw new Failure(
            "policy_mismatch",
            `Policy version ${version} already names other weights that were sampled from; give these a new version.`,
          );
        }
        const id = `${version}-${sha256.slice(0, 16)}`;
        const known = held.get(id);
        if (known !== undefined) {
          known.lastUse = ++clock;
          known.isReference ||= isReference;
          return known.snapshot;
        }
        const index = freePlace();
        if ((await addon.snapshot(handle, { index })) === 0) throw notFinite();
        const snapshot: PolicySnapshot = { id, version, sha256, tokenizerSha256 };
        held.set(id, { snapshot, index, lastUse: ++clock, users: 0, isReference });
        return snapshot;
      }),
    lend: async (snapshot, as, use) => {
      const entry = find(snapshot);
      entry.lastUse = ++clock;
      entry.users += 1;
      if (as === "reference") entry.isReference = true;
      if (snapshot.version >= 0) usedHashes.set(snapshot.version, snapshot.sha256);
      try {
        return await use(entry.index);
      } finally {
        entry.users -= 1;
      }
    },
    drop: (snapshot) => {
      const entry = held.get(snapshot.id);
      if (entry?.users === 0) held.delete(snapshot.id);
    },
  };
}

function notFinite(): Failure {
  return new Failure("policy_not_finite", "A weight of the policy is not a finite number; load an earlier checkpoint.");
}
