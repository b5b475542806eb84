/**
 * Merges small packs, so that slow traffic does not end as one file per episode: when many have gathered, their
 * contents are written as one pack, one transaction moves the rows, and then the old packs go. A crash on the way
 * leaves objects no row names; the next owner removes those.
 */
import { Failure } from "../core/errors.ts";
import type { FolderObjects } from "./folder-objects.ts";
import type { GroupCommit } from "./group-commit.ts";
import { type Content, packBytes, readBlock, readContent, readPackIndex } from "./pack.ts";
import type { StoredObject } from "./record-bytes.ts";
import type { TrajectoryStatements } from "./trajectory-statements.ts";

/** Where packs lie among the objects. */
export const PACK_PREFIX = "p/default/pack/";

const PACKS_MIN = 64;
const SMALL_BYTES_MAX = 1024 * 1024;
const MERGE_BYTES_MAX = 8 * 1024 * 1024;

export interface PackMerger {
  /** Says that a pack was written; starts a merge beside the other writes when there are enough. */
  packAdded(): void;
  /** Lets the merging under way come to its end and starts no other. */
  close(): Promise<void>;
}

export function packMerger(options: {
  readonly objects: FolderObjects;
  readonly trajectories: TrajectoryStatements;
  readonly newKey: () => string;
  readonly write: GroupCommit["write"];
}): PackMerger {
  const { objects, trajectories, newKey, write } = options;
  const unreadable = new Set<string>();
  const smallPacks = (): StoredObject[] =>
    trajectories.objectsBelow(PACK_PREFIX, SMALL_BYTES_MAX).filter(({ key }) => !unreadable.has(key));
  let count = smallPacks().length;
  let working: Promise<void> | null = null;
  let isClosed = false;

  /** Merges what fits into one pack; false when there was nothing to gain. */
  const merge = async (): Promise<boolean> => {
    const small = smallPacks();
    const merged: StoredObject[] = [];
    const contents: Content[] = [];
    for (const pack of upTo(small, MERGE_BYTES_MAX)) {
      try {
        contents.push(...(await contentsOf(objects, pack)));
        merged.push(pack);
      } catch (error) {
        // A damaged pack stays where it is, for its reader to name.
        if (!(error instanceof Failure)) throw error;
        unreadable.add(pack.key);
      }
    }
    if (merged.length < 2) return false;
    const key = newKey();
    const bytes = await packBytes(contents);
    await objects.put(key, bytes);
    const keys = merged.map((pack) => pack.key);
    await write({ apply: () => trajectories.moveObjects(keys, { key, bytes: bytes.length }) });
    for (const old of keys) await objects.remove(old);
    return true;
  };
  /** Packs that came while others were merged count too, so that a slow disk ends with as few. */
  const mergeWhileMany = async (): Promise<void> => {
    while (count >= PACKS_MIN) {
      const isMerged = await merge();
      count = smallPacks().length;
      if (!isMerged) return;
    }
  };

  return {
    packAdded() {
      count += 1;
      if (count < PACKS_MIN || working !== null || isClosed) return;
      // A merge that fails, on a full disk say, has changed no row; the next pack tries again.
      working = mergeWhileMany()
        .catch(() => undefined)
        .finally(() => {
          working = null;
        });
    },
    async close() {
      isClosed = true;
      await working;
    },
  };
}

function upTo(packs: readonly StoredObject[], bytesMax: number): StoredObject[] {
  let bytes = 0;
  return packs.filter((pack) => {
    bytes += pack.bytes;
    return bytes <= bytesMax;
  });
}

async function contentsOf(objects: FolderObjects, { key, bytes }: StoredObject): Promise<Content[]> {
  const index = await readPackIndex(objects, key, bytes);
  const blocks = await Promise.all(index.blocks.map((_block, position) => readBlock(objects, index, position)));
  const contents: Content[] = [];
  for (const [hash, { kind }] of index.entries) {
    const content = await readContent(index, hash, async (block) => blocks[block] ?? new Uint8Array());
    if (content !== null) contents.push({ hash, kind, bytes: content });
  }
  return contents;
}

/** Removes the packs no row names: what a killed owner wrote and never committed, or had already merged. Only the owner may call it. */
export async function removeOrphans(objects: FolderObjects, trajectories: TrajectoryStatements): Promise<void> {
  for (const { key } of await objects.list(PACK_PREFIX)) {
    if (trajectories.objectBytes(key) === null) await objects.remove(key);
  }
}
