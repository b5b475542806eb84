/**
 * The frames spoken with the agent of a sandbox (`native/helper/helper.h`): u32 bytes, u32 channel, u16 type, u16 flags,
 * all little-endian, then at most 64 KiB of payload. Pure encoding and decoding; no I/O.
 */
import type { TerminalSize } from "../core/exec.ts";
import { nameToBytes } from "./byte-names.ts";

/** Of every frame, before its payload. */
export const FRAME_HEADER_BYTES = 12;
/** Of one frame; what is longer takes several. */
export const PAYLOAD_BYTES_MAX = 65_536;
/** The request goes on in the next frame of the same channel. */
export const FLAG_MORE = 1;

/** Frame types, as `native/helper/helper.h` numbers them: below 32 to the agent, from 32 on from it. */
export const FRAME = {
  create: 1,
  exec: 2,
  input: 3,
  signal: 4,
  cancel: 5,
  stats: 6,
  freeze: 7,
  shellRun: 8,
  resize: 9,
  outputCredit: 10,
  ping: 11,
  relay: 16,
  relaySend: 17,
  relayClose: 18,
  relayCredit: 19,
  ready: 33,
  output: 34,
  exit: 35,
  credit: 36,
  reply: 37,
  gone: 38,
  error: 39,
  shellDone: 40,
  relayOpened: 48,
  relayData: 49,
  relayClosed: 50,
  relayTaken: 51,
} as const;

/** One frame as it came. */
export interface Frame {
  readonly channel: number;
  readonly type: number;
  readonly flags: number;
  readonly payload: Buffer;
}

/** One frame. The payload must fit in `PAYLOAD_BYTES_MAX`. */
export function encodeFrame(channel: number, type: number, flags: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  frame.writeUInt32LE(payload.length, 0);
  frame.writeUInt32LE(channel, 4);
  frame.writeUInt16LE(type, 8);
  frame.writeUInt16LE(flags, 10);
  frame.set(payload, FRAME_HEADER_BYTES);
  return frame;
}

/** One request as one or more frames; all but the last carry `FLAG_MORE`. */
export function encodeRequest(channel: number, type: number, payload: Uint8Array): Buffer {
  const frames: Buffer[] = [];
  let at = 0;
  do {
    const end = Math.min(payload.length, at + PAYLOAD_BYTES_MAX);
    frames.push(encodeFrame(channel, type, end < payload.length ? FLAG_MORE : 0, payload.subarray(at, end)));
    at = end;
  } while (at < payload.length);
  return frames.length === 1 ? (frames[0] ?? Buffer.alloc(0)) : Buffer.concat(frames);
}

/**
 * Cuts a byte stream into frames, whatever its chunk borders. A payload is valid until `onFrame` returns. Throws a
 * RangeError on a frame longer than any agent sends, instead of waiting for its bytes.
 */
export function frameReader(onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let wanted = FRAME_HEADER_BYTES;
  return (chunk) => {
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < wanted) return;
    let bytes = held.length === 1 ? chunk : Buffer.concat(held);
    wanted = FRAME_HEADER_BYTES;
    while (bytes.length >= FRAME_HEADER_BYTES) {
      const payloadBytes = bytes.readUInt32LE(0);
      if (payloadBytes > PAYLOAD_BYTES_MAX) throw new RangeError(`a frame claims ${payloadBytes} bytes`);
      const end = FRAME_HEADER_BYTES + payloadBytes;
      if (bytes.length < end) {
        wanted = end;
        break;
      }
      onFrame({
        channel: bytes.readUInt32LE(4),
        type: bytes.readUInt16LE(8),
        flags: bytes.readUInt16LE(10),
        payload: bytes.subarray(FRAME_HEADER_BYTES, end),
      });
      bytes = bytes.subarray(end);
    }
    held = bytes.length > 0 ? [bytes] : [];
    heldBytes = bytes.length;
  };
}

/** Kinds of jobs an exec frame can ask for, as `native/helper/agent.h` numbers them. */
export const JOB = {
  command: 0,
  read: 1,
  write: 2,
  list: 3,
  shell: 4,
  stat: 5,
  mkdir: 6,
  rename: 7,
  remove: 8,
  chmod: 9,
  readRange: 10,
  upload: 11,
  download: 12,
  watch: 13,
  diff: 14,
  layer: 15,
  processes: 21,
} as const;

/** A job as the agent is asked for it; times in milliseconds, rounded up and cut at 32 bits. */
export interface ExecFrame {
  readonly kind: number;
  readonly killsAtLimit: boolean;
  readonly killsDescendants: boolean;
  readonly hasInput: boolean;
  readonly uid: number;
  readonly timeoutMs: number;
  readonly idleOutputMs: number;
  readonly killGraceMs: number;
  readonly outputBytesMax: number;
  /** `ways`: 1 the command reads from it, 2 it writes to it, 3 both. */
  readonly pipes: readonly { readonly fd: number; readonly ways: number }[];
  readonly cwd: string;
  readonly argv: readonly string[];
  readonly envVars: Readonly<Record<string, string>>;
  /** Its terminal; absent: none. */
  readonly terminal?: TerminalSize;
}

/** Of a request before its pipes; `REQUEST_FIXED` of the helper. */
const REQUEST_FIXED_BYTES = 40;
const U32_MAX = 0xffff_ffff;
const u32 = (value: number): number => Math.max(0, Math.min(U32_MAX, Math.ceil(value)));

/** The payload of an exec frame, which may need several. No text may hold NUL. */
export function encodeExec(exec: ExecFrame): Buffer {
  let text = `${exec.cwd}\0`;
  for (const word of exec.argv) text += `${word}\0`;
  let variables = 0;
  for (const name in exec.envVars) {
    text += `${name}=${exec.envVars[name]}\0`;
    variables += 1;
  }
  const strings = nameToBytes(text);
  const headBytes = REQUEST_FIXED_BYTES + exec.pipes.length * 8 + 8;
  const request = Buffer.alloc(headBytes + strings.length);
  request.writeUInt8(exec.kind, 0);
  request.writeUInt8(exec.killsAtLimit ? 1 : 0, 1);
  request.writeUInt8(exec.killsDescendants ? 1 : 0, 2);
  request.writeUInt8(exec.hasInput ? 1 : 0, 3);
  request.writeUInt32LE(exec.uid, 4);
  request.writeUInt32LE(exec.uid, 8);
  request.writeUInt32LE(u32(exec.timeoutMs), 12);
  request.writeUInt32LE(u32(exec.idleOutputMs), 16);
  request.writeUInt32LE(u32(exec.killGraceMs), 20);
  request.writeBigUInt64LE(BigInt(Math.max(0, Math.floor(exec.outputBytesMax))), 24);
  request.writeUInt32LE(exec.pipes.length, 32);
  request.writeUInt16LE(exec.terminal?.columns ?? 0, 36);
  request.writeUInt16LE(exec.terminal?.rows ?? 0, 38);
  let at = REQUEST_FIXED_BYTES;
  for (const pipe of exec.pipes) {
    request.writeUInt32LE(pipe.fd, at);
    request.writeUInt32LE(pipe.ways, at + 4);
    at += 8;
  }
  request.writeUInt32LE(exec.argv.length, at);
  request.writeUInt32LE(variables, at + 4);
  request.set(strings, headBytes);
  return request;
}

/** How a job ended, as the agent tells it. */
export interface ExitFrame {
  readonly how: "exited" | "signalled" | "start_failed";
  readonly code: number;
  readonly startError: number;
  readonly flags: number;
  readonly stdoutBytesDropped: number;
  readonly stderrBytesDropped: number;
  readonly durationMs: number;
  readonly cpuMs: number;
  readonly memoryPeakBytes: number;
  readonly processLimitHits: number;
  readonly oomScope: "exec" | "sandbox" | null;
  readonly processesLeft: number;
}

/** Bits of an exit frame's flags. */
export const EXIT_FLAG = { timedOut: 1, idleTimedOut: 2, oomKilled: 4, outputLimit: 8, cancelled: 16 } as const;

const OOM_SCOPES = [null, "exec", "sandbox"] as const;

/** Times come as microseconds and are given in milliseconds. */
export function decodeExit(payload: Buffer): ExitFrame {
  const big = (at: number): number => Number(payload.readBigUInt64LE(at));
  const how = payload.readUInt8(0);
  return {
    how: how === 0 ? "exited" : how === 1 ? "signalled" : "start_failed",
    code: payload.readUInt8(1),
    startError: payload.readUInt8(2),
    flags: payload.readUInt32LE(4),
    stdoutBytesDropped: big(8),
    stderrBytesDropped: big(16),
    durationMs: big(24) / 1000,
    cpuMs: big(32) / 1000,
    memoryPeakBytes: big(40),
    processLimitHits: payload.readUInt32LE(48),
    oomScope: OOM_SCOPES[payload.readUInt8(3)] ?? null,
    processesLeft: payload.readUInt32LE(52),
  };
}
