/**
 * One input stream of a command: sends what it is given, never more than the window ahead of what the command has read,
 * then its end of file. A command that ended takes no more and holds nobody up.
 */
import type { Failure } from "../core/errors.ts";
import { PAYLOAD_BYTES_MAX } from "./frames.ts";

/** Bytes of input the agent holds for one stream before the command reads them; `INPUT_WINDOW` of the helper. */
const INPUT_WINDOW_BYTES = 262_144;

/** Writes of several callers keep their order. */
export class InputFeed {
  readonly #send: (bytes: Uint8Array) => void;
  #room = INPUT_WINDOW_BYTES;
  #tail: Promise<void> = Promise.resolve();
  #wake: (() => void) | null = null;
  #failure: Failure | null = null;
  #isStopped = false;
  #isEnded = false;

  constructor(send: (bytes: Uint8Array) => void) {
    this.#send = send;
  }

  /** No more can be written: `end` was called. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Resolves when the sandbox has taken the bytes, or the command has ended. Rejects when the sandbox is gone. */
  write(bytes: Uint8Array): Promise<void> {
    const written = this.#tail.then(() => this.#sendAll(bytes));
    this.#tail = written.catch(() => undefined);
    return written;
  }

  /** End of file after what was written. Idempotent. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    void this.#tail.then(() => {
      if (!this.#isStopped) this.#send(new Uint8Array());
    });
  }

  /** Writes all of `input`, then ends. An input that throws ends here; what the command makes of that is its result. */
  async pump(input: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    try {
      if (input instanceof Uint8Array) await this.write(input);
      else
        for await (const chunk of input) {
          await this.write(chunk);
          if (this.#isStopped) break;
        }
    } catch {}
    this.end();
  }

  /** The command has read this much. */
  credit(bytes: number): void {
    this.#room += bytes;
    this.#wake?.();
  }

  /** Nothing is sent from now on. With a failure, writes under way reject with it. */
  stop(failure: Failure | null): void {
    this.#isStopped = true;
    this.#failure = failure;
    this.#wake?.();
  }

  async #sendAll(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      while (this.#room === 0 && !this.#isStopped) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (this.#failure !== null) throw this.#failure;
      if (this.#isStopped) return;
      const end = Math.min(bytes.length, at + Math.min(this.#room, PAYLOAD_BYTES_MAX));
      this.#send(bytes.subarray(at, end));
      this.#room -= end - at;
      at = end;
    }
  }
}
