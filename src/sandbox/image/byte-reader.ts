/**
 * Reads an archive's bytes in exact pieces, decompressing gzip and zstd on the way by what the first bytes say. Holds no
 * more than one chunk of the source and what was asked for.
 */
import { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";

/** Why an archive cannot be read; the caller adds which archive and member. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Exactly `count` bytes, or fewer where the source ends. For small counts only. */
  async take(count: number): Promise<Buffer> {
    while (this.#rest.length < count) {
      const next = await this.#source.next();
      if (next.done === true) break;
      this.#rest = Buffer.concat([this.#rest, next.value]);
    }
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(taken.length);
    return taken;
  }

  /** At most `countMax` bytes as they come; null at the end of the source. */
  async some(countMax: number): Promise<Buffer | null> {
    if (this.#rest.length > 0) return this.take(Math.min(countMax, this.#rest.length));
    const next = await this.#source.next();
    if (next.done === true) return null;
    this.#rest = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    return this.some(countMax);
  }

  /** What is left, unread pieces included. */
  async *remaining(): AsyncGenerator<Buffer> {
    for (let part = await this.some(1 << 20); part !== null; part = await this.some(1 << 20)) yield part;
  }

  /** Ends the source early, so that a file or program behind it is closed. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }
}

const XZ = Buffer.from("fd377a585a00", "hex");
const BZIP2 = Buffer.from("BZh");

/** The bytes of a source that may be gzip, zstd or plain. Throws ArchiveError for other compressions and broken data. */
export async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = new ByteReader(source);
  const head = Buffer.from(await reader.take(6));
  const whole = joined(head, reader);
  if (head.subarray(0, XZ.length).equals(XZ) || head.subarray(0, BZIP2.length).equals(BZIP2))
    throw new ArchiveError("is compressed by xz or bzip2, which is not read here; compress it with gzip or zstd");
  const isGzip = head[0] === 0x1f && head[1] === 0x8b;
  const isZstd = head.length >= 4 && head.readUInt32LE(0) === 0xfd2fb528;
  if (!isGzip && !isZstd) {
    yield* whole;
    return;
  }
  const input = Readable.from(whole, { objectMode: false });
  const output = isGzip ? createGunzip() : createZstdDecompress();
  input.on("error", (error) => output.destroy(error));
  try {
    yield* input.pipe(output) as AsyncIterable<Buffer>;
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    throw new ArchiveError(`is broken ${isGzip ? "gzip" : "zstd"} data (${(error as Error).message})`, {
      cause: error,
    });
  } finally {
    input.destroy();
    output.destroy();
  }
}

async function* joined(head: Buffer, rest: ByteReader): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    yield* rest.remaining();
  } finally {
    await rest.close();
  }
}
