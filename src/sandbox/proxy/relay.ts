/**
 * The host's end of the network relay (`native/helper/relay.c`): each connection that a command makes to the sandbox's
 * loopback arrives here as a byte stream. Nothing here is specific to a provider. Both directions flow by credit; what
 * waits in the agent is bounded over all connections, and one that is not read holds up no other.
 */
import { Duplex } from "node:stream";
import { Failure } from "../../core/errors.ts";
import type { AgentClient } from "../agent-client.ts";
import { FRAME, type Frame, PAYLOAD_BYTES_MAX } from "../frames.ts";

/** Where commands find the proxy: this port of the sandbox's 127.0.0.1, and of ::1 where it has IPv6. */
export const RELAY_PORT = 3128;
/** `CONNECTIONS_MAX` of the helper; more wait in the sandbox. */
export const CONNECTIONS_MAX = 256;

/** `CREDIT_FIRST` of the helper. */
const WINDOW_BYTES = 262_144;
/** Credit is given back in portions of this size, so that small messages do not double the frames. */
const CREDIT_BYTES = 65_536;
/** What may wait in the agent over all connections, before each is held to its share. */
const WAITING_BYTES_MAX = 4 << 20;
const WAITING_SHARE_BYTES = 32_768;
/** `RELAY_HALF` and `RELAY_DONE` of the helper. */
const HALF = 1;
const DONE = 2;
const NOTHING = new Uint8Array();

/** What the relay needs of an agent connection. */
export type RelayClient = Pick<AgentClient, "open" | "close" | "send" | "gone">;

/** Connections of one agent's listener. */
export interface Relay {
  /** Takes the frames of channels the agent opened. */
  onFrame(frame: Frame): void;
  /** The agent listens from now on. Throws `sandbox_unavailable` when a command holds the port, or the sandbox's end. */
  start(): Promise<void>;
  /** The agent no longer listens; every connection is closed. */
  stop(): Promise<void>;
}

/** Bytes that wait in the agent, over all connections; those held back, by connection. */
interface Waiting {
  bytes: number;
  readonly blocked: Set<RelayConnection>;
}

/** Listens only after `start`. */
export function relayOf(client: RelayClient, onConnection: (connection: RelayConnection) => void): Relay {
  const connections = new Map<number, RelayConnection>();
  const waiting: Waiting = { bytes: 0, blocked: new Set() };
  const closeAll = (): void => {
    for (const connection of connections.values()) connection.cut();
  };
  void client.gone.then(closeAll);
  const command = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const channel = client.open({
        onFrame: ({ payload }) => {
          client.close(channel);
          resolve(payload.length < 4 ? 0 : payload.readUInt32LE(0));
        },
        onEnd: reject,
      });
      client.send(channel, FRAME.relay, port, NOTHING);
    });
  return {
    onFrame: (frame) => {
      const { channel, type, flags, payload } = frame;
      if (type !== FRAME.relayOpened) {
        connections.get(channel)?.receive(type, flags, payload);
        return;
      }
      if (connections.has(channel) || connections.size >= CONNECTIONS_MAX) {
        client.send(channel, FRAME.relayClose, 0, NOTHING);
        return;
      }
      const send = (frameType: number, frameFlags: number, bytes: Uint8Array): void =>
        client.send(channel, frameType, frameFlags, bytes);
      const connection = new RelayConnection(send, waiting, () => connections.delete(channel));
      connections.set(channel, connection);
      onConnection(connection);
    },
    start: async () => {
      const error = await command(RELAY_PORT);
      if (error !== 0)
        throw new Failure(
          "sandbox_unavailable",
          `The sandbox's proxy cannot listen on port ${RELAY_PORT} (error ${error}); does a command in it hold the port?`,
        );
    },
    stop: async () => {
      closeAll();
      await command(0);
    },
  };
}

/** One connection of a command, from its first byte to its last. */
export class RelayConnection extends Duplex {
  /** Bytes that came from the sandbox, and bytes sent to it. */
  bytesFrom = 0;
  bytesTo = 0;
  /** Called for each piece with its length: to the sandbox, and from it. */
  onBytes: (bytesTo: number, bytesFrom: number) => void = () => undefined;
  readonly #send: (type: number, flags: number, bytes: Uint8Array) => void;
  readonly #waiting: Waiting;
  readonly #onGone: () => void;
  /** Sent and not yet taken by the command. */
  #ahead = 0;
  #rest: Buffer | null = null;
  #written: ((error?: Error | null) => void) | null = null;
  #creditDue = 0;
  #creditHeld = 0;
  #isOver = false;

  constructor(send: (type: number, flags: number, bytes: Uint8Array) => void, waiting: Waiting, onGone: () => void) {
    super({ allowHalfOpen: true });
    this.#send = send;
    this.#waiting = waiting;
    this.#onGone = onGone;
    /* A connection's error is its end; whoever uses it hears of the close. */
    this.on("error", () => undefined);
  }

  receive(type: number, flags: number, payload: Buffer): void {
    if (this.#isOver) {
      if (type === FRAME.relayTaken) this.#taken(payload.readUInt32LE(0));
      if (type === FRAME.relayClosed || this.#ahead === 0) this.#forget();
      return;
    }
    if (type === FRAME.relayData) this.#take(Buffer.from(payload));
    else if (type === FRAME.relayTaken) this.#taken(payload.readUInt32LE(0));
    else if (type === FRAME.relayClosed && flags === HALF) this.push(null);
    else if (type === FRAME.relayClosed) this.cut();
  }

  /** What an HTTP server does with a socket it will not read from again: the last bytes still go. */
  destroySoon(): void {
    if (this.writableFinished) {
      this.destroy();
      return;
    }
    this.once("finish", () => this.destroy());
    this.end();
  }

  /** Ends it without a word to the agent, which has ended it already or is gone. */
  cut(): void {
    this.#isOver = true;
    this.#forget();
    this.destroy();
  }

  #take(bytes: Buffer): void {
    this.bytesFrom += bytes.length;
    this.onBytes(0, bytes.length);
    this.#creditHeld += bytes.length;
    if (this.push(bytes)) this.#credit();
  }

  override _read(): void {
    this.#credit();
  }

  #credit(): void {
    this.#creditDue += this.#creditHeld;
    this.#creditHeld = 0;
    if (this.#creditDue < CREDIT_BYTES || this.#isOver) return;
    const payload = Buffer.alloc(4);
    payload.writeUInt32LE(this.#creditDue, 0);
    this.#creditDue = 0;
    this.#send(FRAME.relayCredit, 0, payload);
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#rest = chunk;
    this.#written = done;
    this.pump();
  }

  /** Sends as much as the credit allows. */
  pump(): void {
    while (this.#rest !== null && !this.#isOver) {
      const isShared = this.#waiting.bytes >= WAITING_BYTES_MAX;
      const room = (isShared ? WAITING_SHARE_BYTES : WINDOW_BYTES) - this.#ahead;
      if (room <= 0) {
        if (isShared) this.#waiting.blocked.add(this);
        return;
      }
      const piece = this.#rest.subarray(0, Math.min(room, PAYLOAD_BYTES_MAX));
      this.#rest = piece.length < this.#rest.length ? this.#rest.subarray(piece.length) : null;
      this.#ahead += piece.length;
      this.#waiting.bytes += piece.length;
      this.bytesTo += piece.length;
      this.onBytes(piece.length, 0);
      this.#send(FRAME.relaySend, 0, piece);
    }
    const written = this.#written;
    this.#written = null;
    written?.();
  }

  #taken(bytes: number): void {
    const taken = Math.min(bytes, this.#ahead);
    this.#ahead -= taken;
    this.#release(taken);
    if (this.#rest !== null) this.pump();
  }

  #release(bytes: number): void {
    this.#waiting.bytes -= bytes;
    if (this.#waiting.bytes >= WAITING_BYTES_MAX || this.#waiting.blocked.size === 0) return;
    const blocked = [...this.#waiting.blocked];
    this.#waiting.blocked.clear();
    for (const connection of blocked) connection.pump();
  }

  override _final(done: (error?: Error | null) => void): void {
    if (!this.#isOver) this.#send(FRAME.relayClose, HALF, NOTHING);
    done();
  }

  /** After the last byte was written the command still gets it; otherwise the connection is cut short. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isWhole = error === null && this.writableFinished;
    if (!this.#isOver) {
      this.#isOver = true;
      this.#send(FRAME.relayClose, isWhole ? DONE : 0, NOTHING);
      /* What the command has still to read is counted until it has. */
      if (!isWhole || this.#ahead === 0) this.#forget();
    }
    done(error);
  }

  #forget(): void {
    this.#waiting.blocked.delete(this);
    this.#release(this.#ahead);
    this.#ahead = 0;
    this.#onGone();
  }
}
