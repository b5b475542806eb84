/**
 * The safetensors format, for float32: 8 bytes of header length, a JSON header (name -> dtype, shape, byte range), then
 * the values, little-endian. What is read is checked whole before any of it is used.
 */
import { Failure } from "../core/errors.ts";

/** One named array of floats. Its length is the product of its shape. */
export interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

const HEADER_BYTES_MAX = 16 * 1024 * 1024;

export function encodeSafetensors(
  tensors: readonly Tensor[],
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  let offset = 0;
  const header: Record<string, unknown> = { __metadata__: metadata };
  for (const { name, shape, data } of tensors) {
    header[name] = { dtype: "F32", shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  const json = Buffer.from(JSON.stringify(header), "utf8");
  // Spaces up to a multiple of 8 keep the values aligned; the format allows them.
  const headerBytes = Math.ceil(json.length / 8) * 8;
  const bytes = Buffer.alloc(8 + headerBytes + offset, 0x20);
  bytes.writeBigUInt64LE(BigInt(headerBytes), 0);
  json.copy(bytes, 8);
  let at = 8 + headerBytes;
  for (const { data } of tensors) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return bytes;
}

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** Tensors by name, copied out of `bytes`. Throws `record_invalid` saying what is wrong; `origin` names the file. */
export function decodeSafetensors(bytes: Uint8Array, origin: string): Map<string, Tensor> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerBytes = buffer.length >= 8 ? Number(buffer.readBigUInt64LE(0)) : -1;
  if (headerBytes < 2 || headerBytes > HEADER_BYTES_MAX || 8 + headerBytes > buffer.length) {
    refuse(origin, `its header length ${headerBytes} does not fit its ${buffer.length} bytes`);
  }
  const header = parseHeader(buffer.subarray(8, 8 + headerBytes).toString("utf8"), origin);
  const values = buffer.subarray(8 + headerBytes);
  const tensors = new Map<string, Tensor>();
  for (const [name, value] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const entry = value as Partial<Entry> | null;
    const [start, end] = entry?.data_offsets ?? [];
    const shape = entry?.shape;
    if (entry?.dtype !== "F32" || !Array.isArray(shape) || !shape.every((length) => Number.isSafeInteger(length))) {
      refuse(origin, `tensor ${name} is not float32 with a shape`);
    }
    const count = (shape as readonly number[]).reduce((product, length) => product * length, 1);
    if (
      !Number.isSafeInteger(start) ||
      start === undefined ||
      end !== start + count * 4 ||
      end > values.length ||
      start < 0
    ) {
      refuse(origin, `the byte range of tensor ${name} does not fit its shape or the file`);
    }
    const data = new Float32Array(count);
    new Uint8Array(data.buffer).set(values.subarray(start, end));
    tensors.set(name, { name, shape: shape as readonly number[], data });
  }
  return tensors;
}

function parseHeader(text: string, origin: string): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(text);
    if (typeof header === "object" && header !== null && !Array.isArray(header))
      return header as Record<string, unknown>;
  } catch {}
  return refuse(origin, "its header is no JSON object");
}

function refuse(origin: string, reason: string): never {
  throw new Failure("record_invalid", `${origin} is not a safetensors file: ${reason}.`);
}
