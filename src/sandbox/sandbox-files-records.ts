/**
 * The stream of a tree, in both directions (`native/helper/tree-records.c`): per entry u8 kind, u8 0, u16 bytes of the
 * path, u32 mode, the path; after a file its content in chunks of u32 bytes, the last of them empty; at the end one `e`.
 * Pure encoding and decoding; what comes from a sandbox is not trusted.
 */

const HEAD_BYTES = 8;
const PATH_BYTES_MAX = 4_095;
const NAME_BYTES_MAX = 255;
const SLASH = 0x2f;

export const RECORD_END = Buffer.from([0x65, 0, 0, 0, 0, 0, 0, 0]);
/** Before each chunk of a file's content: its bytes as u32. */
export const CHUNK_HEAD_BYTES = 4;
/** Ends a file's content. */
export const CHUNK_END = Buffer.alloc(CHUNK_HEAD_BYTES);

/** `path` is relative to the tree's folder. */
export function encodeEntry(kind: "file" | "folder", path: Uint8Array, mode: number): Buffer {
  const record = Buffer.alloc(HEAD_BYTES + path.length);
  record.writeUInt8((kind === "file" ? "f" : "d").charCodeAt(0), 0);
  record.writeUInt16LE(path.length, 2);
  record.writeUInt32LE(mode & 0o777, 4);
  record.set(path, HEAD_BYTES);
  return record;
}

/** Relative, and never up or out of the folder it is put in, whatever it names. */
export function isPathBelow(path: Buffer): boolean {
  if (path.length === 0 || path.length > PATH_BYTES_MAX || path.includes(0)) return false;
  for (let at = 0; at <= path.length; ) {
    const slash = path.indexOf(SLASH, at);
    const end = slash < 0 ? path.length : slash;
    const name = path.toString("latin1", at, end);
    if (name === "" || name === "." || name === ".." || name.length > NAME_BYTES_MAX) return false;
    at = end + 1;
  }
  return true;
}

export type TreeEvent =
  /** `refused`: an entry that is named and not carried. */
  | { readonly kind: "folder" | "file" | "refused"; readonly path: Buffer; readonly mode: number }
  | { readonly kind: "content"; readonly bytes: Buffer }
  | { readonly kind: "file-end" }
  | { readonly kind: "end" };

const KINDS: Readonly<Record<number, "folder" | "file" | "refused">> = { 100: "folder", 102: "file", 114: "refused" };

/** Decodes a stream in pieces of any size. */
export class TreeDecoder {
  #held = Buffer.alloc(0);
  #state: "entry" | "chunk-head" | "chunk" | "ended" = "entry";
  #chunkLeft = 0;

  /** What these bytes complete, in order. Throws a RangeError for what no agent sends. */
  *take(bytes: Uint8Array): Generator<TreeEvent> {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let rest = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    for (let next = this.#next(rest); next !== null; next = this.#next(rest)) {
      rest = rest.subarray(next.bytes);
      if (next.event !== null) yield next.event;
    }
    this.#held = Buffer.from(rest);
  }

  /** The next step, or null when more bytes are needed. */
  #next(rest: Buffer): { readonly bytes: number; readonly event: TreeEvent | null } | null {
    if (rest.length === 0) return null;
    if (this.#state === "ended") throw new RangeError("a tree goes on after its end");
    if (this.#state === "entry") return this.#entry(rest);
    if (this.#state === "chunk-head") {
      if (rest.length < 4) return null;
      this.#chunkLeft = rest.readUInt32LE(0);
      this.#state = this.#chunkLeft === 0 ? "entry" : "chunk";
      return { bytes: 4, event: this.#chunkLeft === 0 ? { kind: "file-end" } : null };
    }
    const content = rest.subarray(0, Math.min(rest.length, this.#chunkLeft));
    this.#chunkLeft -= content.length;
    if (this.#chunkLeft === 0) this.#state = "chunk-head";
    return { bytes: content.length, event: { kind: "content", bytes: content } };
  }

  #entry(rest: Buffer): { readonly bytes: number; readonly event: TreeEvent } | null {
    if (rest.length < HEAD_BYTES) return null;
    const pathBytes = rest.readUInt16LE(2);
    if (rest[0] === RECORD_END[0] && pathBytes === 0) {
      this.#state = "ended";
      return { bytes: HEAD_BYTES, event: { kind: "end" } };
    }
    const kind = KINDS[rest[0] ?? 0];
    if (kind === undefined) throw new RangeError(`a tree has an entry of kind ${rest[0]}`);
    const bytes = HEAD_BYTES + pathBytes;
    if (pathBytes > PATH_BYTES_MAX) throw new RangeError(`a tree has a path of ${pathBytes} bytes`);
    if (rest.length < bytes) return null;
    const path = Buffer.from(rest.subarray(HEAD_BYTES, bytes));
    if (!isPathBelow(path)) throw new RangeError(`a tree names ${JSON.stringify(path.toString("latin1"))}`);
    if (kind === "file") this.#state = "chunk-head";
    return { bytes, event: { kind, path, mode: rest.readUInt32LE(4) & 0o7777 } };
  }
}
