import { expect, test } from "vitest";
import type { Objects } from "../core/store.ts";
import { type Content, sha256 } from "./pack.ts";
import { recordBytes } from "./record-bytes.ts";

/** Objects in a map that count their reads, and fail while told to. */
function countingObjects() {
  const kept = new Map<string, Uint8Array>();
  const seen = { gets: 0, isDown: false };
  const objects: Objects = {
    put: async (key, bytes) => void kept.set(key, bytes),
    get: async (key, range) => {
      seen.gets += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (seen.isDown) throw new Error("down");
      const bytes = kept.get(key) ?? new Uint8Array();
      return range === undefined ? bytes : bytes.subarray(range.offset, range.offset + range.length);
    },
    list: async () => [],
  };
  return { objects, seen };
}

const contents = Array.from({ length: 50 }, (_, index): Content => {
  const bytes = Buffer.from(`answer ${index}`);
  return { hash: sha256(bytes), kind: "body", bytes };
});

test("many who read one pack at the same moment read its index and its block once", async () => {
  const { objects, seen } = countingObjects();
  const bytes = recordBytes(objects, () => null);
  const { pack } = await bytes.put("p", contents);
  const read = await Promise.all(contents.map(({ hash }) => bytes.get(pack, hash)));
  expect(read.map((each) => Buffer.from(each).toString())).toEqual(contents.map((_each, index) => `answer ${index}`));
  expect(seen.gets).toBe(4);
});

test("a read that failed is not remembered", async () => {
  const { objects, seen } = countingObjects();
  const bytes = recordBytes(objects, () => null);
  const { pack } = await bytes.put("p", contents);
  const hash = contents[0]?.hash ?? "";
  seen.isDown = true;
  await expect(bytes.get(pack, hash)).rejects.toThrow("down");
  seen.isDown = false;
  expect(Buffer.from(await bytes.get(pack, hash)).toString()).toBe("answer 0");
});
