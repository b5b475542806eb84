/**
 * Output that is kept, in the order it came. A command may write byte by byte, and each piece would cost this process a
 * hundred times its length; so pieces are packed as they come, and what is kept costs about as much as it has bytes.
 */

export interface OutputPiece {
  /** Its number in the command. */
  readonly stream: number;
  readonly bytes: Buffer;
}

/** So many pieces are packed at a time; among them the streams lose their order to each other, and no stream its own. */
const LOOSE_MAX = 1_024;

export class KeptOutput {
  #pieces: OutputPiece[] = [];
  /** The last ones, which have not been packed. */
  #loose = 0;
  /** Of all streams. */
  bytes = 0;

  /** Keeps the buffer itself. */
  add(stream: number, bytes: Buffer): void {
    this.#pieces.push({ stream, bytes });
    this.bytes += bytes.length;
    this.#loose += 1;
    if (this.#loose < LOOSE_MAX) return;
    const loose = this.#pieces.splice(-LOOSE_MAX);
    this.#loose = 0;
    for (const each of new Set(loose.map((piece) => piece.stream)))
      this.#pieces.push({ stream: each, bytes: concat(loose, each) });
  }

  get pieces(): readonly OutputPiece[] {
    return this.#pieces;
  }

  /** One stream as a whole. */
  of(stream: number): Buffer {
    return concat(this.#pieces, stream);
  }
}

function concat(pieces: readonly OutputPiece[], stream: number): Buffer {
  return Buffer.concat(pieces.flatMap((piece) => (piece.stream === stream ? [piece.bytes] : [])));
}
