/** Every name survives as text, and every text of a name is the name again. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesToName, nameToBytes } from "./byte-names.ts";

test("any bytes come back from their text, and different bytes have different texts", () => {
  const bytes = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(bytes, bytes, (one, other) => {
      expect(Buffer.compare(nameToBytes(bytesToName(one)), one)).toBe(0);
      expect(bytesToName(one) === bytesToName(other)).toBe(Buffer.compare(one, other) === 0);
    }),
    { numRuns: 2_000 },
  );
});

test("text is text: UTF-8 reads as itself, and only bytes that are none are escaped", () => {
  expect(bytesToName(Buffer.from("häß 😀\n"))).toBe("häß 😀\n");
  expect(nameToBytes("häß 😀").equals(Buffer.from("häß 😀"))).toBe(true);
  expect(bytesToName(Buffer.from([0x61, 0xe9, 0x62, 0xf0, 0x9f, 0x98, 0x80]))).toBe("a\udce9b😀");
  expect(bytesToName(Buffer.from([0xed, 0xa0, 0x80]))).toBe("\udced\udca0\udc80");
  expect(nameToBytes("x\ud800").equals(Buffer.from("x\ufffd"))).toBe(true);
});
