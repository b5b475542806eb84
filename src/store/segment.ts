/**
 * Token segments as bytes: columns, one after another, so that a pack compresses each well.
 *
 *     8 bytes "SEGMENT1", count (u32), sampled (u32), temperature (f64)
 *     ids (i32 each), mask (bits), log-probabilities of sampled tokens only (f32, one byte plane after another),
 *     policy versions and turns (i32 each, as differences)
 *
 * Numbers are little-endian. Log-probabilities come back bit for bit; a segment that breaks an invariant is refused.
 */
import { Failure } from "../core/errors.ts";
import type { TokenSegment } from "../core/trajectory.ts";

const MAGIC = Buffer.from("SEGMENT1");
const HEADER_BYTES = 24;

/**
 * Throws `record_invalid` naming `what` and the first column and token that break an invariant: equal lengths; mask
 * 0 or 1; a finite log-probability where sampled and 0 elsewhere; a turn in 0 to `turns`, from 1 where sampled.
 */
export function checkSegment(segment: TokenSegment, what: string, turns: number): void {
  const { ids, mask, logprobs, policyVersions } = segment;
  const count = ids.length;
  for (const [name, column] of Object.entries({ mask, logprobs, policyVersions, turns: segment.turns })) {
    if (column.length !== count) {
      throw invalid(
        what,
        `column ${name} has ${column.length} rows, ids has ${count}; all columns have one row per token`,
      );
    }
  }
  if (!Number.isFinite(segment.temperature))
    throw invalid(what, `temperature is ${segment.temperature}, not a finite number`);
  for (let token = 0; token < count; token += 1) {
    const at = (column: Int32Array | Uint8Array | Float32Array): number => column[token] ?? 0;
    if (at(ids) < 0) throw invalid(what, `ids[${token}] is ${at(ids)}; a token id is at least 0`);
    if (at(mask) > 1) throw invalid(what, `mask[${token}] is ${at(mask)}; it is 0 or 1`);
    const isSampled = at(mask) === 1;
    if (isSampled && !Number.isFinite(at(logprobs))) {
      throw invalid(what, `logprobs[${token}] is ${at(logprobs)}; a sampled token has a finite log-probability`);
    }
    if (!isSampled && at(logprobs) !== 0) {
      throw invalid(what, `logprobs[${token}] is ${at(logprobs)}; a token that was not sampled has 0 there`);
    }
    const turn = at(segment.turns);
    if (turn < (isSampled ? 1 : 0) || turn > turns) {
      throw invalid(
        what,
        `turns[${token}] is ${turn}; ${isSampled ? "a sampled token" : "a token"} of an episode of ${turns} turns cannot be in it`,
      );
    }
  }
}

export function sampledCount(segment: TokenSegment): number {
  return segment.mask.reduce((sum, bit) => sum + bit, 0);
}

/** The segment must have passed `checkSegment`. */
export function segmentBytes(segment: TokenSegment): Uint8Array {
  const count = segment.ids.length;
  const sampled = sampledCount(segment);
  const bytes = Buffer.alloc(segmentLength(count, sampled));
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(count, 8);
  bytes.writeUInt32LE(sampled, 12);
  bytes.writeDoubleLE(segment.temperature, 16);
  const places = columns(count, sampled);
  const exact = Buffer.alloc(4);
  let rank = 0;
  for (let token = 0; token < count; token += 1) {
    bytes.writeInt32LE(segment.ids[token] ?? 0, places.ids + token * 4);
    writeDifference(bytes, places.policyVersions, segment.policyVersions, token);
    writeDifference(bytes, places.turns, segment.turns, token);
    if (segment.mask[token] !== 1) continue;
    const cell = places.mask + (token >> 3);
    bytes[cell] = (bytes[cell] ?? 0) | (1 << (token & 7));
    exact.writeFloatLE(segment.logprobs[token] ?? 0);
    for (let plane = 0; plane < 4; plane += 1) bytes[places.logprobs + plane * sampled + rank] = exact[plane] ?? 0;
    rank += 1;
  }
  return bytes;
}

/** Throws `record_invalid` when the bytes are no segment. */
export function parseSegment(source: Uint8Array): TokenSegment {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, 8).equals(MAGIC))
    throw invalid("stored bytes", "they do not start like a segment");
  const count = bytes.readUInt32LE(8);
  const sampled = bytes.readUInt32LE(12);
  if (bytes.length !== segmentLength(count, sampled))
    throw invalid("stored bytes", "their length does not fit their counts");
  const places = columns(count, sampled);
  const segment = {
    ids: new Int32Array(count),
    mask: new Uint8Array(count),
    logprobs: new Float32Array(count),
    policyVersions: new Int32Array(count),
    turns: new Int32Array(count),
    temperature: bytes.readDoubleLE(16),
  };
  const exact = Buffer.alloc(4);
  let rank = 0;
  for (let token = 0; token < count; token += 1) {
    segment.ids[token] = bytes.readInt32LE(places.ids + token * 4);
    segment.policyVersions[token] =
      (segment.policyVersions[token - 1] ?? 0) + bytes.readInt32LE(places.policyVersions + token * 4);
    segment.turns[token] = (segment.turns[token - 1] ?? 0) + bytes.readInt32LE(places.turns + token * 4);
    if ((((bytes[places.mask + (token >> 3)] ?? 0) >> (token & 7)) & 1) === 0) continue;
    segment.mask[token] = 1;
    for (let plane = 0; plane < 4; plane += 1) exact[plane] = bytes[places.logprobs + plane * sampled + rank] ?? 0;
    segment.logprobs[token] = exact.readFloatLE();
    rank += 1;
  }
  return segment;
}

function columns(count: number, sampled: number) {
  const ids = HEADER_BYTES;
  const mask = ids + count * 4;
  const logprobs = mask + Math.ceil(count / 8);
  const policyVersions = logprobs + sampled * 4;
  return { ids, mask, logprobs, policyVersions, turns: policyVersions + count * 4 };
}

function segmentLength(count: number, sampled: number): number {
  return columns(count, sampled).turns + count * 4;
}

/** Differences wrap at 32 bits, and typed arrays wrap them back. */
function writeDifference(bytes: Buffer, place: number, column: Int32Array, token: number): void {
  bytes.writeInt32LE(((column[token] ?? 0) - (column[token - 1] ?? 0)) | 0, place + token * 4);
}

function invalid(what: string, problem: string): Failure {
  return new Failure("record_invalid", `Token segment of ${what}: ${problem}.`);
}
