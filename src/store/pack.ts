/**
 * A pack holds the small contents of one group commit in one object: documents, token segments, bodies, each once.
 *
 *     header   8 bytes "SANDPACK", layout version (u32), 0 (u32)
 *     blocks   contents joined up to 128 KiB, then zstd level 3 (or stored, where that is smaller)
 *     index    zstd of JSON: blocks [offset, length, rawLength, codec], entries [hash, kind, block, offset, length]
 *     footer   index offset (u64), index length (u32), 0 (u32), SHA-256 of the index bytes, 8 bytes "KCAPDNAS"
 *
 * Numbers are little-endian. One content is read by two ranged reads (footer with index, one block) and is checked
 * against its SHA-256, so damage is named and never returned as data.
 */
import { createHash, hash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { Failure } from "../core/errors.ts";
import type { Objects } from "../core/store.ts";

const PACK_LAYOUT_VERSION = 1;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const HEADER_MAGIC = Buffer.from("SANDPACK");
const FOOTER_MAGIC = Buffer.from("KCAPDNAS");
const HEADER_BYTES = 16;
const FOOTER_BYTES = 56;
const BLOCK_BYTES_MAX = 128 * 1024;
const ZSTD_LEVEL = 3;

export type ContentKind = "document" | "segment" | "body";

/** One content of a pack, named by the SHA-256 of its bytes. */
export interface Content {
  readonly hash: string;
  readonly kind: ContentKind;
  readonly bytes: Uint8Array;
}

type Codec = "zstd" | "stored";

interface Block {
  readonly offset: number;
  readonly length: number;
  readonly rawLength: number;
  readonly codec: Codec;
}

interface Entry {
  readonly kind: ContentKind;
  readonly block: number;
  readonly offset: number;
  readonly length: number;
}

/** Where each content of a pack lies. */
export interface PackIndex {
  readonly key: string;
  readonly blocks: readonly Block[];
  readonly entries: ReadonlyMap<string, Entry>;
}

export function sha256(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

/** The bytes of a pack. Equal hashes are stored once. Documents come first, so that lists read few blocks. */
export async function packBytes(contents: readonly Content[]): Promise<Uint8Array> {
  const unique = new Map<string, Content>();
  for (const content of contents) if (!unique.has(content.hash)) unique.set(content.hash, content);
  const { raw, entries } = joined([...unique.values()]);

  const header = Buffer.alloc(HEADER_BYTES);
  HEADER_MAGIC.copy(header);
  header.writeUInt32LE(PACK_LAYOUT_VERSION, 8);
  const parts: Uint8Array[] = [header];
  const blocks: [number, number, number, Codec][] = [];
  let offset = HEADER_BYTES;
  for (const bytes of raw) {
    const packed = await compressed(bytes);
    const isSmaller = packed.length < bytes.length;
    const kept = isSmaller ? packed : bytes;
    blocks.push([offset, kept.length, bytes.length, isSmaller ? "zstd" : "stored"]);
    parts.push(kept);
    offset += kept.length;
  }
  const index = await compressed(Buffer.from(JSON.stringify({ blocks, entries })));
  const footer = Buffer.alloc(FOOTER_BYTES);
  footer.writeBigUInt64LE(BigInt(offset), 0);
  footer.writeUInt32LE(index.length, 8);
  createHash("sha256").update(index).digest().copy(footer, 16);
  FOOTER_MAGIC.copy(footer, 48);
  return Buffer.concat([...parts, index, footer]);
}

function compressed(bytes: Uint8Array): Promise<Buffer> {
  return compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}

/** Contents joined into blocks, by kind; one larger than a block gets a block of its own. */
function joined(contents: readonly Content[]) {
  const raw: Uint8Array[] = [];
  const entries: [string, ContentKind, number, number, number][] = [];
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  const close = (): void => {
    if (pending.length > 0) raw.push(Buffer.concat(pending));
    pending = [];
    pendingBytes = 0;
  };
  for (const kind of ["document", "segment", "body"] as const) {
    for (const { hash, kind: contentKind, bytes } of contents) {
      if (contentKind !== kind) continue;
      if (pendingBytes + bytes.length > BLOCK_BYTES_MAX) close();
      entries.push([hash, kind, raw.length, pendingBytes, bytes.length]);
      pending.push(bytes);
      pendingBytes += bytes.length;
    }
    close();
  }
  return { raw, entries };
}

/**
 * Reads the index of a pack of `bytes` bytes.
 * Throws `object_missing`, or `record_invalid` when the pack is cut, damaged or of a newer layout.
 */
export async function readPackIndex(objects: Objects, key: string, bytes: number): Promise<PackIndex> {
  if (bytes < HEADER_BYTES + FOOTER_BYTES) throw damaged(key, `it has only ${bytes} bytes`);
  const header = Buffer.from(await objects.get(key, { offset: 0, length: HEADER_BYTES }));
  if (!header.subarray(0, 8).equals(HEADER_MAGIC)) throw damaged(key, "it does not start like a pack");
  const layout = header.readUInt32LE(8);
  if (layout > PACK_LAYOUT_VERSION) {
    throw new Failure(
      "record_invalid",
      `Pack ${key} has layout version ${layout}; this Sandlot reads up to ${PACK_LAYOUT_VERSION}. Use the newer Sandlot that wrote it.`,
    );
  }
  const footer = Buffer.from(await objects.get(key, { offset: bytes - FOOTER_BYTES, length: FOOTER_BYTES }));
  if (!footer.subarray(48).equals(FOOTER_MAGIC)) throw damaged(key, "its last bytes are torn");
  const offset = Number(footer.readBigUInt64LE(0));
  const length = footer.readUInt32LE(8);
  if (offset + length + FOOTER_BYTES !== bytes) throw damaged(key, "its index does not lie where its footer says");
  const index = await objects.get(key, { offset, length });
  if (!createHash("sha256").update(index).digest().equals(footer.subarray(16, 48))) {
    throw damaged(key, "its index does not match its SHA-256");
  }
  return parsedIndex(key, await decompress(index));
}

function parsedIndex(key: string, json: Uint8Array): PackIndex {
  const parsed = JSON.parse(Buffer.from(json).toString()) as {
    blocks: [number, number, number, Codec][];
    entries: [string, ContentKind, number, number, number][];
  };
  return {
    key,
    blocks: parsed.blocks.map(([offset, length, rawLength, codec]) => ({ offset, length, rawLength, codec })),
    entries: new Map(
      parsed.entries.map(([hash, kind, block, offset, length]) => [hash, { kind, block, offset, length }]),
    ),
  };
}

/** One uncompressed block of a pack. */
export async function readBlock(objects: Objects, index: PackIndex, block: number): Promise<Uint8Array> {
  const place = index.blocks[block];
  if (place === undefined) throw damaged(index.key, `it has no block ${block}`);
  const bytes = await objects.get(index.key, { offset: place.offset, length: place.length });
  if (place.codec === "stored") return bytes;
  try {
    return await decompress(bytes, { maxOutputLength: Math.max(1, place.rawLength) });
  } catch (error) {
    throw damaged(index.key, `block ${block} cannot be decompressed`, error);
  }
}

/** The content with this hash out of its block, checked against the hash; null when the pack has none. */
export async function readContent(
  index: PackIndex,
  hash: string,
  blockOf: (block: number) => Promise<Uint8Array>,
): Promise<Uint8Array | null> {
  const entry = index.entries.get(hash);
  if (entry === undefined) return null;
  const block = await blockOf(entry.block);
  const bytes = new Uint8Array(block.subarray(entry.offset, entry.offset + entry.length));
  if (sha256(bytes) !== hash) throw damaged(index.key, `the ${entry.kind} ${hash} does not match its SHA-256`);
  return bytes;
}

function damaged(key: string, what: string, cause?: unknown): Failure {
  return new Failure("record_invalid", `Pack ${key} is damaged: ${what}. Restore it from a backup.`, { cause });
}
