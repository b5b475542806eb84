/**
 * The record of a sandbox as its recorder on the host tells it (`native/helper/trace.c`): a connection of its own to the
 * helper, which no part of the sandbox can name. What is kept here is bounded; what is beyond is counted.
 */
import type { Socket } from "node:net";
import type { Runtime } from "../core/runtime.ts";
import type { SandboxEvent, SandboxTrace } from "../core/sandbox.ts";
import { bytesToName } from "./byte-names.ts";
import { encodeFrame, FRAME, type Frame, frameReader } from "./frames.ts";

/** The frame in the place of a create frame; `FRAME_TRACE` of the helper. */
const FRAME_TRACE = 12;
const START_MS = 2_000;
/** A recorder that does not answer when it is asked has told what it will tell. */
const ANSWER_MS = 500;
const EVENTS_MAX = 4_000;
const WATCHED_BYTES_MAX = 8_000;
const HEAD_BYTES = 20;
const WORDS_MAX = 32;
const KINDS: Readonly<Record<string, SandboxEvent["kind"]>> = { x: "exec", o: "open", w: "write" };

/** Null where this machine lets nobody record; then nothing is left of the try. `boxId` is the machine's own name. */
export function traceSandbox(
  runtime: Runtime,
  socket: Socket,
  boxId: string,
  watched: readonly string[],
): Promise<SandboxTrace | null> {
  return new Promise((resolve) => {
    const reader = new TraceReader(runtime, socket);
    const cancelLate = runtime.timer(START_MS, () => end(null));
    const end = (trace: SandboxTrace | null): void => {
      cancelLate();
      if (trace === null) socket.destroy();
      resolve(trace);
    };
    const read = frameReader((frame) => {
      if (frame.type === FRAME.ready) void reader.log().then(() => end(reader));
      else if (frame.type === FRAME.error || frame.type === FRAME.gone) end(null);
      else reader.take(frame);
    });
    socket.on("data", (chunk: Buffer) => {
      try {
        read(chunk);
      } catch {
        socket.destroy();
      }
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      reader.end();
      end(null);
    });
    /* A record that nobody asks for must not keep the program running. */
    socket.unref();
    let text = `${boxId}\0`;
    for (const path of watched)
      if (!path.includes("\0") && Buffer.byteLength(text) + Buffer.byteLength(path) < WATCHED_BYTES_MAX)
        text += `${path.replace(/(.)\/+$/, "$1")}\0`;
    socket.write(encodeFrame(0, FRAME_TRACE, 0, Buffer.from(text)));
  });
}

class TraceReader implements SandboxTrace {
  readonly #runtime: Runtime;
  readonly #socket: Socket;
  /** Between these the recorder began, by the runtime's clock; each answer of its own clock tightens them. */
  #startedAfter: number;
  #startedBefore = Number.POSITIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;
  readonly #events: SandboxEvent[] = [];
  readonly #waiting = new Set<() => void>();
  #beyond = 0;
  #lost = 0;
  #isEnded = false;

  constructor(runtime: Runtime, socket: Socket) {
    this.#runtime = runtime;
    this.#socket = socket;
    this.#startedAfter = runtime.monotonic();
  }

  async log() {
    await this.#answered();
    const isBounded = Number.isFinite(this.#startedBefore);
    const startedAt = isBounded ? (this.#startedAfter + this.#startedBefore) / 2 : this.#startedAfter;
    return {
      startedAt,
      events: this.#events.toSorted((one, other) => one.atMs - other.atMs),
      dropped: this.#beyond + this.#lost,
    };
  }

  take(frame: Frame): void {
    if (frame.type === FRAME.reply) this.#answer(frame);
    else if (frame.type === FRAME.credit && frame.payload.length >= 4) this.#lost = frame.payload.readUInt32LE(0);
    else if (frame.type !== FRAME.output || frame.payload.length < HEAD_BYTES) return;
    else if (this.#events.length === EVENTS_MAX) this.#beyond += 1;
    else this.#events.push(decodeEvent(frame.payload));
  }

  #answer({ payload }: Frame): void {
    const clockMs = payload.length < 8 ? Number.NaN : Number(payload.readBigUInt64LE(0)) / 1000;
    if (Number.isFinite(clockMs)) {
      this.#startedAfter = Math.max(this.#startedAfter, this.#askedAt - clockMs);
      this.#startedBefore = Math.min(this.#startedBefore, this.#runtime.monotonic() - clockMs);
    }
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /** What was seen before this call has been told when it resolves. */
  #answered(): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    return new Promise((resolve) => {
      const cancelLate = this.#runtime.timer(ANSWER_MS, () => this.#wake());
      this.#waiting.add(() => {
        cancelLate();
        resolve();
      });
      this.#askedAt = this.#runtime.monotonic();
      this.#socket.write("?");
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

function decodeEvent(payload: Buffer): SandboxEvent {
  const pathEnd = HEAD_BYTES + payload.readUInt16LE(2);
  const words = payload.subarray(pathEnd, pathEnd + payload.readUInt16LE(4));
  const pid = payload.readUInt32LE(8);
  const argv = bytesToName(words).replace(/\0$/, "").split("\0").slice(0, WORDS_MAX);
  return {
    kind: KINDS[String.fromCharCode(payload.readUInt8(0))] ?? "open",
    atMs: Number(payload.readBigUInt64LE(12)) / 1000,
    path: bytesToName(payload.subarray(HEAD_BYTES, pathEnd)),
    pid: pid === 0 ? null : pid,
    argv: words.length === 0 ? null : argv,
  };
}
