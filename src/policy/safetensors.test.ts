/** The safetensors files: what is written can be read, by other readers too, and damage is seen. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeSafetensors, encodeSafetensors, type Tensor } from "./safetensors.ts";

const TENSORS: readonly Tensor[] = [
  { name: "a.weight", shape: [2, 3], data: Float32Array.of(1, -2, 3.5, 0, Number.MIN_VALUE, 6) },
  { name: "b", shape: [1], data: Float32Array.of(7) },
];

test("tensors come back by name with their shape and every bit", () => {
  const values = fc.float32Array({ minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(values, (data) => {
      const bytes = encodeSafetensors([...TENSORS, { name: "c", shape: [data.length], data }]);
      const read = decodeSafetensors(bytes, "x");
      expect([...read.keys()]).toEqual(["a.weight", "b", "c"]);
      expect(new Uint8Array(read.get("c")?.data.buffer ?? new ArrayBuffer(0))).toEqual(
        new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      );
    }),
  );
});

test("the layout is the format's: header length, JSON, values from an aligned start", () => {
  const bytes = Buffer.from(encodeSafetensors(TENSORS));
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, unknown>;
  expect(header["a.weight"]).toEqual({ dtype: "F32", shape: [2, 3], data_offsets: [0, 24] });
  expect((8 + length) % 8).toBe(0);
  expect(bytes.readFloatLE(8 + length + 8)).toBe(3.5);
});

test("a file that was cut anywhere is refused, naming it", () => {
  const bytes = encodeSafetensors(TENSORS);
  for (let end = 0; end < bytes.length; end += 1) {
    expect(() => decodeSafetensors(bytes.subarray(0, end), "model.safetensors")).toThrow(/model\.safetensors/);
  }
});

test("a header that lies about shapes or ranges is refused", () => {
  const good = Buffer.from(encodeSafetensors(TENSORS));
  for (const [from, to] of [
    ["[2,3]", "[9,9]"],
    ["F32", "F16"],
    ["[0,24]", "[0,25]"],
    ["[24,28]", "[24,99]"],
  ] as const) {
    const bad = Buffer.from(good);
    bad.write(to, bad.indexOf(from));
    expect(() => decodeSafetensors(bad, "x")).toThrow(/x is not a safetensors file/);
  }
});
