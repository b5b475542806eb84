/**
 * Keeps the store honest and small: hashes images anew, and removes those nobody holds with the layers no image is left
 * for. An image vanishes from the records first; if a process took hold of it in that moment, it comes back.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../core/errors.ts";
import { removeDeadBuilds, variantName } from "./build-tree.ts";
import { heldImages } from "./hold.ts";
import type { GcReport, VerifyReport } from "./image-contract.ts";
import { withLock } from "./store-lock.ts";
import type { StoreParts } from "./store-parts.ts";
import type { ImageRecord } from "./store-records.ts";
import { hashTree } from "./tree-hash.ts";

/** Throws `not_found`. */
export async function verifyImage(parts: StoreParts, name: string): Promise<VerifyReport> {
  const record = findImage(parts, name);
  const changed: string[] = [];
  for (const { tree } of record.layers) {
    const path = join(parts.folder, tree, variantName(parts.ownership));
    const now = existsSync(path) ? (await hashTree(path, parts.ownership)).hash : "missing";
    if (now !== tree) changed.push(tree);
  }
  return { hash: record.hash, isIntact: changed.length === 0, changed };
}

/** By full hash, `sha256:HASH`, the beginning of a hash, or a reference. Throws `not_found`. */
function findImage({ records }: StoreParts, name: string): ImageRecord {
  const named = records.reference(name)?.hash ?? name.replace(/^sha256:/, "");
  const fitting = records.images().filter(({ hash }) => named.length >= 6 && hash.startsWith(named));
  const [only, ...more] = fitting;
  if (only !== undefined && more.length === 0) return only;
  throw new Failure(
    "not_found",
    more.length > 0
      ? `"${name}" is the beginning of ${fitting.length} images' hashes; write more of it.`
      : `There is no image "${name}" in the store; "sandlot image list" shows what is.`,
  );
}

/** Throws `not_found`, and `sandbox_busy` while a live process holds it. */
export async function removeImage(parts: StoreParts, name: string): Promise<GcReport> {
  return withCommitLock(parts, async () => {
    const record = findImage(parts, name);
    if (!takeAway(parts, record, true))
      throw new Failure(
        "sandbox_busy",
        `Image sha256:${record.hash} is in use by a live process; end it, then remove the image.`,
      );
    const kept = parts.records.images();
    return {
      removed: [record.hash],
      kept: kept.map(({ hash }) => hash),
      bytesFreed: bytesOf([record, ...kept]) - bytesOf(kept),
    };
  });
}

/** Least recently used first, until at most `keepBytes` are left. Shared layers count once. */
export async function collectGarbage(parts: StoreParts, keepBytes: number): Promise<GcReport> {
  const report = await withCommitLock(parts, async () => {
    const { records } = parts;
    const images = [...records.images()].sort((a, b) => records.usedAt(a.hash) - records.usedAt(b.hash));
    const removed: string[] = [];
    for (const record of images) {
      if (bytesOf(records.images()) <= keepBytes) break;
      if (takeAway(parts, record, false)) removed.push(record.hash);
    }
    const kept = records.images();
    return { removed, kept: kept.map(({ hash }) => hash), bytesFreed: bytesOf(images) - bytesOf(kept) };
  });
  await removeDeadBuilds(parts.folder);
  return report;
}

/** What the work took out of the store is deleted after the lock is given back, as that may take long. */
async function withCommitLock<T>(parts: StoreParts, work: () => Promise<T>): Promise<T> {
  const { runtime, folder } = parts;
  const [result, taken] = await withLock("commit", { runtime, folder: join(folder, "lock") }, async () => {
    const done = await work();
    return [done, takeUnusedLayers(parts)] as const;
  });
  for (const path of taken) await rm(path, { recursive: true, force: true });
  return result;
}

/** False when a live process holds it. An explicit removal also forgets the locked versions of its references. */
function takeAway({ records, holdFolder }: StoreParts, record: ImageRecord, isExplicit: boolean): boolean {
  if (heldImages(holdFolder).has(record.hash)) return false;
  records.removeImage(record.hash);
  if (heldImages(holdFolder).has(record.hash)) {
    records.writeImage(record);
    return false;
  }
  if (isExplicit)
    for (const { reference, hash } of records.references())
      if (hash === record.hash) records.removeReference(reference);
  return true;
}

function bytesOf(images: readonly ImageRecord[]): number {
  const layers = new Map(images.flatMap((image) => image.layers).map((layer) => [layer.tree, layer.bytes]));
  return [...layers.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Takes the layer folders of this ownership that no image names out of the store; gives where they lie now. */
function takeUnusedLayers({ folder, ownership, records, runtime, token }: StoreParts): readonly string[] {
  const used = new Set(records.images().flatMap(({ layers }) => layers.map(({ tree }) => tree)));
  const variant = variantName(ownership);
  const taken: string[] = [];
  mkdirSync(join(folder, "build"), { recursive: true });
  for (const name of readdirSync(folder)) {
    const path = join(folder, name, variant);
    if (!/^[0-9a-f]{64}$/.test(name) || used.has(name) || !existsSync(path)) continue;
    const trash = join(folder, "build", `${token}-${runtime.id().toLowerCase()}`);
    renameSync(path, trash);
    taken.push(trash);
    try {
      rmdirSync(join(folder, name));
    } catch {}
  }
  return taken;
}
