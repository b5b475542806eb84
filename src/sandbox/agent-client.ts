/**
 * One connection to the agent of one sandbox: sends frames, hands each answer to the call it belongs to, and settles
 * every open call when the sandbox ends. The connection's end means that processes and groups of the sandbox are gone.
 */
import type { Socket } from "node:net";
import { Failure } from "../core/errors.ts";
import { encodeFrame, encodeRequest, FRAME, type Frame, frameReader } from "./frames.ts";

/** One open call: gets the frames of its channel until it closes, or the failure that ended the sandbox. */
export interface Call {
  onFrame(frame: Frame): void;
  onEnd(failure: Failure): void;
}

/** Ends a pid namespace from inside (reboot(2)): the kernel gives its PID 1 one of these. */
const SIGNALS_FROM_INSIDE: readonly number[] = [1, 2];

export class AgentClient {
  readonly id: string;
  /** Resolves when nothing of the sandbox is left. */
  readonly gone: Promise<void>;
  readonly #socket: Socket;
  readonly #calls = new Map<number, Call>();
  #nextChannel = 1;
  #failure: Failure | null = null;
  #isDestroyed = false;
  #error: Failure | null = null;

  constructor(id: string, socket: Socket) {
    this.id = id;
    this.#socket = socket;
    const read = frameReader((frame) => this.#receive(frame));
    socket.on("data", (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (cause) {
        /* What a sandbox sends must never be able to end this process. */
        const message = `Sandbox ${id} was lost: what its agent sent could not be taken in (${String(cause)}).`;
        this.#end(new Failure("sandbox_lost", message, { cause }));
        socket.destroy();
      }
    });
    socket.on("error", () => socket.destroy());
    this.gone = new Promise((resolve) => {
      socket.on("close", () => {
        this.#end(new Failure("sandbox_lost", `Sandbox ${id} was lost: its connection ended without a reason.`));
        resolve();
      });
    });
  }

  /** Why no call can be made any more, or null. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** From now on the sandbox's end is wanted, and later calls fail with `sandbox_destroyed`, or with `reason`. */
  markDestroyed(reason = new Failure("sandbox_destroyed", `Sandbox ${this.id} was destroyed.`)): void {
    this.#isDestroyed = true;
    this.#end(reason);
  }

  /** Reserves a channel. Throws the failure that ended the sandbox. */
  open(call: Call): number {
    if (this.#failure !== null) throw this.#failure;
    const channel = this.#nextChannel;
    this.#nextChannel += 1;
    this.#calls.set(channel, call);
    return channel;
  }

  /** Hands an open channel to another call. */
  replace(channel: number, call: Call): void {
    if (this.#failure === null) this.#calls.set(channel, call);
    else call.onEnd(this.#failure);
  }

  close(channel: number): void {
    this.#calls.delete(channel);
  }

  send(channel: number, type: number, flags: number, payload: Uint8Array): void {
    if (this.#failure === null) this.#socket.write(encodeFrame(channel, type, flags, payload));
  }

  sendRequest(channel: number, type: number, payload: Uint8Array): void {
    if (this.#failure === null) this.#socket.write(encodeRequest(channel, type, payload));
  }

  /** One request with one answer. */
  ask(type: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const channel = this.open({
        onFrame: (frame) => {
          this.close(channel);
          resolve(Buffer.from(frame.payload));
        },
        onEnd: reject,
      });
      this.send(channel, type, 0, new Uint8Array());
    });
  }

  #receive(frame: Frame): void {
    if (frame.type === FRAME.error) {
      const step = frame.payload.toString("utf8");
      this.#error = new Failure("sandbox_unavailable", `Sandbox ${this.id} could not be made: ${step}.`);
    } else if (frame.type === FRAME.gone) {
      this.#end(this.#whyGone(frame.payload.readInt32LE(0)));
      this.#socket.destroy();
    } else {
      this.#calls.get(frame.channel)?.onFrame(frame);
    }
  }

  #whyGone(status: number): Failure {
    const signal = status & 0x7f;
    if (SIGNALS_FROM_INSIDE.includes(signal))
      return new Failure("sandbox_killed", `Sandbox ${this.id} was ended by a command inside it (signal ${signal}).`);
    const how = signal === 0 ? `exited with ${status >> 8}` : `was ended by signal ${signal}`;
    return new Failure("sandbox_lost", `Sandbox ${this.id} was lost: its agent ${how}.`);
  }

  #end(reason: Failure): void {
    if (this.#failure !== null) return;
    this.#failure = this.#isDestroyed ? reason : (this.#error ?? reason);
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.onEnd(this.#failure);
  }
}
