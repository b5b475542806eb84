import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { folderObjects } from "./folder-objects.ts";
import { type Content, type ContentKind, packBytes, readBlock, readContent, readPackIndex, sha256 } from "./pack.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-pack-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function content(bytes: Uint8Array, kind: ContentKind = "body"): Content {
  return { hash: sha256(bytes), kind, bytes };
}

/** Every content of the pack `bytes`, read as the store reads it. */
async function readAll(bytes: Uint8Array, hashes: readonly string[]): Promise<(Uint8Array | null)[]> {
  const objects = folderObjects(folder);
  writeFileSync(join(folder, "pack"), bytes);
  const index = await readPackIndex(objects, "pack", bytes.length);
  const read = [];
  for (const hash of hashes) read.push(await readContent(index, hash, (block) => readBlock(objects, index, block)));
  return read;
}

const contents = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .record({ byte: fc.nat(255), length: fc.integer({ min: 100_000, max: 200_000 }) })
      .map(({ byte, length }) => new Uint8Array(length).fill(byte)),
  ),
  { maxLength: 12 },
);

test("whatever goes into a pack comes out of it", async () => {
  await fc.assert(
    fc.asyncProperty(contents, async (all) => {
      const packed = all.map((bytes) => content(bytes));
      const read = await readAll(
        await packBytes(packed),
        packed.map(({ hash }) => hash),
      );
      expect(read.map((bytes) => Buffer.from(bytes ?? []))).toEqual(all.map((bytes) => Buffer.from(bytes)));
    }),
    { numRuns: 30 },
  );
});

test("equal bodies are stored once, and similar ones compress together", async () => {
  const prompts = Array.from({ length: 64 }, (_, index) =>
    content(Buffer.from(`Write a function that sums list ${index % 4}. `.repeat(40))),
  );
  const raw = prompts.reduce((sum, { bytes }) => sum + bytes.length, 0);
  expect(raw / (await packBytes(prompts)).length).toBeGreaterThan(50);
});

test("a content the pack does not have is null", async () => {
  expect(await readAll(await packBytes([content(Buffer.from("a"))]), [sha256(Buffer.from("b"))])).toEqual([null]);
});

test("a pack cut at any place, or with any byte changed, is never read as data", async () => {
  const body = content(Buffer.from("the body that must not be torn"));
  const good = await packBytes([content(Buffer.from("{}"), "document"), body]);
  for (let length = 0; length < good.length; length += 1) {
    await expect(readAll(good.subarray(0, length), [body.hash])).rejects.toMatchObject({ code: "record_invalid" });
  }
  for (let place = 0; place < good.length; place += 1) {
    const bad = Uint8Array.from(good, (byte, index) => (index === place ? byte ^ 0x41 : byte));
    const read = await readAll(bad, [body.hash]).catch((error: unknown) => error);
    if (Array.isArray(read)) expect(Buffer.from(read[0] ?? []).toString()).toBe("the body that must not be torn");
    else expect(read).toMatchObject({ code: "record_invalid" });
  }
});

test("a pack of a newer layout is refused, naming both versions", async () => {
  const bytes = Buffer.from(await packBytes([content(Buffer.from("a"))]));
  bytes.writeUInt32LE(9, 8);
  await expect(readAll(bytes, [])).rejects.toThrow(/layout version 9; this Sandlot reads up to 1/);
});
