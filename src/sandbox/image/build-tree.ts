/**
 * From an empty folder to a layer in the store: built beside it, flushed, hashed and renamed into place whole. A build
 * that dies leaves a folder with its owner's token, which the next build removes; nothing of it is ever seen as an image.
 */

import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Runtime } from "../../core/runtime.ts";
import { isOfDeadOwner } from "./hold.ts";
import type { ImageOwnership } from "./image-contract.ts";
import type { LayerRecord } from "./store-records.ts";
import { hashTree } from "./tree-hash.ts";

const run = promisify(execFile);

/** `mapped` for root mode; others carry their base id, as each user has their own. */
export function variantName({ base, isSingle }: ImageOwnership): string {
  if (isSingle) return `self-${base}`;
  return base === 100_000 ? "mapped" : `subuid-${base}`;
}

export interface BuildFolder {
  /** Of the tree; mode 0755. */
  readonly root: string;
  /** For tools; may be left dirty. */
  readonly workFolder: string;
}

/** What builds of dead owners left. */
export async function removeDeadBuilds(folder: string): Promise<void> {
  const parent = join(folder, "build");
  for (const name of existsSync(parent) ? readdirSync(parent) : [])
    if (isOfDeadOwner(name)) await rm(join(parent, name), { recursive: true, force: true });
}

/** Lends a fresh folder to `work` and removes what is left of it. Removes those of dead owners first. */
export async function withBuildFolder<T>(
  { folder, token, runtime }: { readonly folder: string; readonly token: string; readonly runtime: Runtime },
  work: (build: BuildFolder) => Promise<T>,
): Promise<T> {
  const parent = join(folder, "build");
  mkdirSync(parent, { recursive: true });
  await removeDeadBuilds(folder);
  const own = join(parent, `${token}-${runtime.id().toLowerCase()}`);
  mkdirSync(own, { mode: 0o755 });
  try {
    const build = { root: join(own, "root"), workFolder: join(own, "work") };
    mkdirSync(build.root, { mode: 0o755 });
    chmodSync(build.root, 0o755);
    mkdirSync(build.workFolder, { mode: 0o755 });
    return await work(build);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** Flushes and hashes a finished tree, and gives it its place; an equal one that is there already stays. */
export async function keepTree(
  folder: string,
  root: string,
  ownership: ImageOwnership,
  signal: AbortSignal | undefined,
): Promise<LayerRecord> {
  const { hash, bytes, files } = await hashTree(root, ownership, signal);
  const target = join(folder, hash, variantName(ownership));
  if (!existsSync(target)) {
    await run("sync", ["-f", root]).catch(() => undefined);
    mkdirSync(join(folder, hash), { recursive: true, mode: 0o755 });
    try {
      renameSync(root, target);
    } catch (error) {
      if (!existsSync(target)) throw error;
    }
  }
  return { tree: hash, bytes, files };
}
