/**
 * One connection to the agent of one sandbox: sends frames, hands each answer to the call it belongs to, and settles
 * every open call when the sandbox ends. The connection's end means that processes and groups of the sandbox are gone.
 */
import type { Duplex } from "node:stream";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import { encodeFrame, encodeRequest, FRAME, type Frame, frameReader } from "./frames.ts";

/** One open call: gets the frames of its channel until it closes, or the failure that ended the sandbox. */
export interface Call {
  onFrame(frame: Frame): void;
  onEnd(failure: Failure): void;
}

/** What a connection is watched with. */
export interface AgentClientOptions {
  /** With it a silent agent is pinged while a call is open, and lost when it stays silent. */
  readonly runtime?: Runtime;
  /** Called when the agent was lost by its silence; ends what is left of the sandbox. */
  readonly kill?: () => void;
  /** Gets frames on channels the agent opened: numbers from 0x80000000, the network relay's. */
  readonly onRelayFrame?: (frame: Frame) => void;
  /** How the machine ended, as a wait status, for a connection that has no `gone` frame of its own; asked at its end. */
  readonly endStatus?: () => number | null;
}

const RELAY_CHANNEL_MIN = 0x8000_0000;
/** Silence of an agent with open calls until it is pinged, and again for each answer that it may miss. */
const SILENCE_MS = 5_000;
const MISSES_MAX = 2;
const PING_CHANNEL = 0;
const NOTHING = new Uint8Array();

/** Ends a pid namespace from inside (reboot(2)): the kernel gives its PID 1 one of these. */
const SIGNALS_FROM_INSIDE: readonly number[] = [1, 2];

/** Calls of one agent by channel; every open one settles, whatever ends the sandbox. */
export class AgentClient {
  readonly id: string;
  /** Resolves when nothing of the sandbox is left. */
  readonly gone: Promise<void>;
  readonly #socket: Duplex;
  readonly #options: AgentClientOptions;
  readonly #calls = new Map<number, Call>();
  #nextChannel = 1;
  #failure: Failure | null = null;
  #isDestroyed = false;
  #error: Failure | null = null;
  /** Since the last look: something came. Nothing is expected before the first frame, as a creation may take long. */
  #isHeard = false;
  #isReady = false;
  #misses = 0;
  #cancelLook: (() => void) | null = null;

  /** `socket` is the connection itself, or both pipes of an agent that runs elsewhere as one stream. */
  constructor(id: string, socket: Duplex, options: AgentClientOptions = {}) {
    this.id = id;
    this.#socket = socket;
    this.#options = options;
    const read = frameReader((frame) => this.#receive(frame));
    socket.on("data", (chunk: Buffer) => {
      this.#isHeard = true;
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
    socket.on("end", () => {
      const status = options.endStatus?.() ?? null;
      if (status !== null && this.#failure === null) this.#end(this.#whyGone(status, false));
    });
    this.gone = new Promise((resolve) => {
      socket.on("close", () => {
        if (this.#failure === null)
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
    if (this.#cancelLook === null) this.#lookLater();
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

  /** Tells the agent that this much of a stream's output was taken. */
  sendCredit(channel: number, stream: number, bytes: number): void {
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(bytes, 0);
    this.send(channel, FRAME.outputCredit, stream, payload);
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

  /** Resolves when the agent answers. Throws the failure that ended the sandbox. */
  async ping(): Promise<void> {
    await this.ask(FRAME.ping);
  }

  /** One timer per client, and only while calls are open: an agent that answers nothing is lost. */
  #lookLater(): void {
    const { runtime } = this.#options;
    if (runtime !== undefined) this.#cancelLook = runtime.timer(SILENCE_MS, () => this.#look());
  }

  #look(): void {
    this.#cancelLook = null;
    if (this.#failure !== null || this.#calls.size === 0) return;
    const isSilent = this.#isReady && !this.#isHeard;
    this.#isHeard = false;
    this.#misses = isSilent ? this.#misses + 1 : 0;
    if (this.#misses > MISSES_MAX) {
      const seconds = ((MISSES_MAX + 1) * SILENCE_MS) / 1000;
      this.#end(new Failure("sandbox_lost", `Sandbox ${this.id} was lost: its agent was silent for ${seconds} s.`));
      this.#options.kill?.();
      return;
    }
    /* Its answer is heard like any frame; no call waits for it. */
    if (isSilent) this.send(PING_CHANNEL, FRAME.ping, 0, NOTHING);
    this.#lookLater();
  }

  #receive(frame: Frame): void {
    this.#isReady = true;
    if (frame.type === FRAME.error) {
      const step = frame.payload.toString("utf8");
      this.#error = new Failure("sandbox_unavailable", `Sandbox ${this.id} could not be made: ${step}.`);
    } else if (frame.type === FRAME.gone) {
      /* A failure records its stack, which costs; the wanted end of a sandbox needs none. */
      const { payload } = frame;
      /* A second word that is not zero: the helper ended the sandbox because its lifetime had passed. */
      const isOver = payload.length >= 8 && payload.readInt32LE(4) !== 0;
      if (this.#failure === null) this.#end(this.#whyGone(payload.readInt32LE(0), isOver));
      this.#socket.destroy();
    } else if (frame.channel >= RELAY_CHANNEL_MIN) {
      this.#options.onRelayFrame?.(frame);
    } else {
      this.#calls.get(frame.channel)?.onFrame(frame);
    }
  }

  #whyGone(status: number, isOver: boolean): Failure {
    if (isOver) return new Failure("sandbox_destroyed", `Sandbox ${this.id} was destroyed: its lifetime had passed.`);
    const signal = status & 0x7f;
    if (SIGNALS_FROM_INSIDE.includes(signal))
      return new Failure("sandbox_killed", `Sandbox ${this.id} was ended by a command inside it (signal ${signal}).`);
    const how = signal === 0 ? `exited with ${status >> 8}` : `was ended by signal ${signal}`;
    return new Failure("sandbox_lost", `Sandbox ${this.id} was lost: its agent ${how}.`);
  }

  #end(reason: Failure): void {
    if (this.#failure !== null) return;
    this.#failure = this.#isDestroyed ? reason : (this.#error ?? reason);
    this.#cancelLook?.();
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.onEnd(this.#failure);
  }
}
