/**
 * Standard input and output of one bwrap as the one stream an agent client speaks over. Its end waits for bwrap's own,
 * which comes when the last process of the sandbox is gone. How it ended stands beside the stream and not in it, for the
 * agent may have ended in the middle of a frame.
 */
import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { Duplex, type Readable, type Writable } from "node:stream";

/** Words of bwrap itself or of an agent that could not start, kept for the message of a loss. */
const STDERR_BYTES_MAX = 2_048;

export interface BwrapStreams {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export class BwrapStream extends Duplex {
  errorText = "";
  /** How the sandbox ended, as a wait status; null until that is known. */
  endStatus: number | null = null;
  readonly #child: ChildProcess;
  readonly #streams: BwrapStreams;
  #isEnded = false;
  #whenEnded: (() => void)[] = [];

  /** `onLost` is called when this side gives the sandbox up. */
  constructor(child: ChildProcess, streams: BwrapStreams, onLost: () => void) {
    super({ allowHalfOpen: true });
    this.#child = child;
    this.#streams = streams;
    streams.stdout.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) streams.stdout.pause();
    });
    streams.stderr.on("data", (chunk: Buffer) => {
      this.errorText = (this.errorText + chunk.toString("utf8")).slice(-STDERR_BYTES_MAX);
    });
    for (const stream of [streams.stdin, streams.stdout, streams.stderr]) stream.on("error", () => undefined);
    child.on("error", (error) => {
      this.errorText += String(error);
      this.#end(null, null);
    });
    child.on("close", (code, signal) => this.#end(code, signal));
    /* The other half may never end by itself: a write that bwrap did not take is still open. */
    this.once("end", () => this.destroy());
    this.#onLost = onLost;
  }

  readonly #onLost: () => void;

  override _read(): void {
    this.#streams.stdout.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isEnded || this.#streams.stdin.destroyed) done();
    else this.#streams.stdin.write(chunk, () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#isEnded) {
      done(error);
      return;
    }
    this.#whenEnded.push(() => done(error));
    this.#onLost();
  }

  #end(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.endStatus = waitStatus(code, signal);
    for (const stream of Object.values(this.#streams)) stream.destroy();
    this.#child.removeAllListeners();
    for (const go of this.#whenEnded) go();
    this.#whenEnded = [];
    if (!this.destroyed) this.push(null);
  }
}

/** bwrap tells a signal of PID 1 as 128 and its number. */
function waitStatus(code: number | null, signal: NodeJS.Signals | null): number {
  if (code === null) return constants.signals[signal ?? "SIGKILL"];
  return code > 128 ? code - 128 : code << 8;
}
