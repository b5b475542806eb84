import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FolderObjects, folderObjects } from "./folder-objects.ts";

let folder: string;
let objects: FolderObjects;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-objects-"));
  objects = folderObjects(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const text = async (bytes: Promise<Uint8Array>): Promise<string> => Buffer.from(await bytes).toString();

test("what was put is read back, whole or by range", async () => {
  await objects.put("p/default/a", Buffer.from("0123456789"));
  expect(await text(objects.get("p/default/a"))).toBe("0123456789");
  expect(await text(objects.get("p/default/a", { offset: 3, length: 4 }))).toBe("3456");
});

test("an object is never replaced", async () => {
  await objects.put("a", Buffer.from("first"));
  await expect(objects.put("a", Buffer.from("second"))).rejects.toMatchObject({ code: "superseded" });
  expect(await text(objects.get("a"))).toBe("first");
});

test("of many puts of one key exactly one wins", async () => {
  const puts = Array.from({ length: 16 }, (_, index) => objects.put("a", Buffer.from(String(index))));
  const results = await Promise.allSettled(puts);
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test("a missing object, and one that is too short, are named", async () => {
  await expect(objects.get("p/none")).rejects.toThrow(/Object p\/none is not in /);
  await objects.put("short", Buffer.from("abc"));
  await expect(objects.get("short", { offset: 2, length: 9 })).rejects.toMatchObject({
    code: "record_invalid",
    message: expect.stringMatching(/short .*has 3 bytes/),
  });
});

test("keys are listed by prefix in key order, and temporary files never", async () => {
  for (const key of ["b/2", "b/10", "a", "b/c/1", "bc"]) await objects.put(key, Buffer.from(key));
  writeFileSync(join(folder, ".temporary", "left"), "half of a put");
  expect(await objects.list("b/")).toEqual([
    { key: "b/10", bytes: 4 },
    { key: "b/2", bytes: 3 },
    { key: "b/c/1", bytes: 5 },
  ]);
  expect((await objects.list("")).map(({ key }) => key)).toEqual(["a", "b/10", "b/2", "b/c/1", "bc"]);
  expect(await folderObjects(join(folder, "nothing")).list("")).toEqual([]);
});

test.each([
  "",
  "/etc/passwd",
  "../outside",
  "a/../b",
  "a//b",
  ".hidden",
  "a/.b",
  "a\u0000b",
  "a b",
  "a/",
  "x".repeat(600),
])("the key %j cannot leave the folder: it is refused", async (key) => {
  await expect(objects.put(key, Buffer.from("x"))).rejects.toMatchObject({ code: "request_invalid" });
  await expect(objects.get(key)).rejects.toMatchObject({ code: "request_invalid" });
});

test("a link in the place of an object is not followed", async () => {
  mkdirSync(join(folder, "a"));
  writeFileSync(join(folder, "secret"), "secret");
  symlinkSync(join(folder, "secret"), join(folder, "a", "link"));
  await expect(objects.get("a/link")).rejects.toMatchObject({ code: "store_unavailable" });
});

test("a put leaves no temporary file, and a sweep removes those of interrupted puts", async () => {
  await objects.put("a", Buffer.from("x"));
  expect(readdirSync(join(folder, ".temporary"))).toEqual([]);
  writeFileSync(join(folder, ".temporary", "left"), "half of a put");
  await objects.sweep();
  expect(existsSync(join(folder, ".temporary"))).toBe(false);
  await objects.put("b", Buffer.from("y"));
  expect(await text(objects.get("b"))).toBe("y");
});

test("a removed object is missing, and removing it again is no error", async () => {
  await objects.put("a", Buffer.from("x"));
  await objects.remove("a");
  await objects.remove("a");
  await expect(objects.get("a")).rejects.toMatchObject({ code: "object_missing" });
});

const cannotMount = process.getuid?.() === 0 ? false : "mounting a small disk needs root";

test.skipIf(cannotMount)("an object that does not fit is refused as disk_full and leaves nothing behind", async () => {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "sandlot-test", folder]);
  try {
    const refused = objects.put("p/big", Buffer.alloc(3 * 1024 * 1024, 7));
    await expect(refused).rejects.toMatchObject({ code: "disk_full", message: expect.stringContaining(folder) });
    expect(await objects.list("")).toEqual([]);
    expect(readdirSync(join(folder, ".temporary"))).toEqual([]);
    await objects.put("p/big", Buffer.from("fits"));
    expect(await text(objects.get("p/big"))).toBe("fits");
  } finally {
    execFileSync("umount", [folder]);
  }
});
