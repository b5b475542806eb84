/**
 * Where the contents of records lie: small ones of one group commit together in a pack, a body of 256 KiB or more by
 * itself under its own hash, shared by all records that have it. Reading checks every hash.
 */
import { Failure } from "../core/errors.ts";
import type { Objects } from "../core/store.ts";
import { type Content, type PackIndex, packBytes, readBlock, readContent, readPackIndex } from "./pack.ts";
import { type Recent, recent } from "./recent.ts";

const SHARED_BYTES_MIN = 256 * 1024;
const INDEXES_MAX = 64;
const BLOCKS_MAX = 32;

/** An object that is on the disk; rows may name it. */
export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
}

export interface StoredContents {
  readonly pack: StoredObject;
  readonly shared: readonly StoredObject[];
}

export interface RecordBytes {
  /** Writes contents durably, the pack under `packKey`. Throws `disk_full`; then no row may name them. */
  put(packKey: string, contents: readonly Content[]): Promise<StoredContents>;
  /** The content with this hash. Throws `object_missing`, or `record_invalid` when it is damaged. */
  get(pack: StoredObject, hash: string): Promise<Uint8Array>;
}

/** `bytesOf` says how long a shared object is by the rows; null when no row names it. */
export function recordBytes(objects: Objects, bytesOf: (key: string) => number | null): RecordBytes {
  const indexes: Recent<string, Promise<PackIndex>> = recent(INDEXES_MAX);
  const blocks: Recent<string, Promise<Uint8Array>> = recent(BLOCKS_MAX);

  const contentOf = async ({ key, bytes }: StoredObject, hash: string): Promise<Uint8Array | null> => {
    const index = await once(indexes, key, () => readPackIndex(objects, key, bytes));
    return readContent(index, hash, (block) => once(blocks, `${key}#${block}`, () => readBlock(objects, index, block)));
  };

  return {
    async put(packKey, contents) {
      const small = contents.filter((content) => !isShared(content));
      const large = new Map(contents.filter(isShared).map((content) => [content.hash, content]));
      const shared: StoredObject[] = [];
      for (const content of large.values()) shared.push(await putShared(objects, content, bytesOf));
      const bytes = await packBytes(small);
      await objects.put(packKey, bytes);
      return { pack: { key: packKey, bytes: bytes.length }, shared };
    },
    async get(pack, hash) {
      const inPack = await contentOf(pack, hash);
      if (inPack !== null) return inPack;
      const key = sharedKey(hash);
      const bytes = bytesOf(key);
      const content = bytes === null ? null : await contentOf({ key, bytes }, hash);
      if (content === null)
        throw new Failure(
          "object_missing",
          `Body ${hash} is neither in pack ${pack.key} nor among the shared objects.`,
        );
      return content;
    },
  };
}

/** What is known under `name`, or what `read` brings; those who ask meanwhile share it. A failure is not remembered. */
function once<T>(known: Recent<string, Promise<T>>, name: string, read: () => Promise<T>): Promise<T> {
  const found = known.get(name);
  if (found !== undefined) return found;
  const reading = read();
  known.set(name, reading);
  reading.catch(() => known.delete(name));
  return reading;
}

function isShared(content: Content): boolean {
  return content.kind === "body" && content.bytes.length >= SHARED_BYTES_MIN;
}

function sharedKey(hash: string): string {
  return `p/default/c/${hash}`;
}

async function putShared(
  objects: Objects,
  content: Content,
  bytesOf: (key: string) => number | null,
): Promise<StoredObject> {
  const key = sharedKey(content.hash);
  const known = bytesOf(key);
  if (known !== null) return { key, bytes: known };
  const bytes = await packBytes([content]);
  try {
    await objects.put(key, bytes);
    return { key, bytes: bytes.length };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "superseded") throw error;
  }
  // Left by a put whose row was never written. The name is the hash of the content, so whole means equal.
  const left = (await objects.get(key)).length;
  const index = await readPackIndex(objects, key, left);
  await readContent(index, content.hash, (block) => readBlock(objects, index, block));
  return { key, bytes: left };
}
