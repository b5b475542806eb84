/**
 * The attached streams of one container as the one stream an agent client speaks over. It takes the engine's eight-byte
 * headers away, and it ends only after its owner has said how the container ended: a stream that merely stops proves
 * nothing, so what follows it is the owner's question to the engine. The answer stands beside the stream and not in it,
 * for the container may have ended in the middle of a frame.
 */
import { Duplex } from "node:stream";

const HEADER_BYTES = 8;
const STDOUT = 1;
const STDERR = 2;
/** Words of a container's own runtime or agent, kept for the message of a loss. */
const STDERR_BYTES_MAX = 2_048;
/** No engine sends pieces of this size; it is noise, or not multiplexed at all. */
const PIECE_BYTES_MAX = 1 << 24;

export interface EngineStream extends Duplex {
  /** What came on standard error so far. */
  readonly errorText: string;
  /** How the container ended, as a wait status; null until that is known. */
  readonly endStatus: number | null;
  /** Says how the container ended, in the form of a wait status, and closes the stream. Idempotent. */
  finish(waitStatus: number): void;
}

/** `onLost` is called once, when the engine's connection ends or makes no sense. */
export function engineStream(attached: Duplex, onLost: () => void): EngineStream {
  return new AttachedStream(attached, onLost);
}

class AttachedStream extends Duplex implements EngineStream {
  errorText = "";
  endStatus: number | null = null;
  readonly #attached: Duplex;
  readonly #onLost: () => void;
  #held: Buffer = Buffer.alloc(0);
  #isLost = false;
  #isFinished = false;
  readonly #whenFinished: (() => void)[] = [];

  constructor(attached: Duplex, onLost: () => void) {
    super({ allowHalfOpen: true });
    this.#attached = attached;
    this.#onLost = onLost;
    attached.on("data", (chunk: Buffer) => this.#take(chunk));
    /* The other half may never end by itself: a write that the engine did not take is still open. */
    this.once("end", () => this.destroy());
    for (const event of ["end", "close", "error"]) attached.on(event, () => this.#lose());
  }

  override _read(): void {
    if (!this.#isLost) this.#attached.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isLost) done();
    else this.#attached.write(chunk, () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#lose();
    /* Its close means that nothing of the sandbox is left, so it waits for that word. */
    if (this.#isFinished) done(error);
    else this.#whenFinished.push(() => done(error));
  }

  finish(waitStatus: number): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.endStatus = waitStatus;
    this.#lose();
    for (const go of this.#whenFinished) go();
    if (!this.destroyed) this.push(null);
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#attached.destroy();
    this.#onLost();
  }

  #take(chunk: Buffer): void {
    if (this.#isFinished) return;
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let hasRoom = true;
    while (bytes.length >= HEADER_BYTES) {
      const kind = bytes.readUInt8(0);
      const end = HEADER_BYTES + bytes.readUInt32BE(4);
      if (kind > STDERR || end > PIECE_BYTES_MAX) {
        this.#lose();
        return;
      }
      if (bytes.length < end) break;
      const piece = bytes.subarray(HEADER_BYTES, end);
      if (kind === STDOUT) hasRoom = this.push(piece) && hasRoom;
      else this.errorText = (this.errorText + piece.toString("utf8")).slice(-STDERR_BYTES_MAX);
      bytes = bytes.subarray(end);
    }
    this.#held = bytes;
    if (!hasRoom) this.#attached.pause();
  }
}
