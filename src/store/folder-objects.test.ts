import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MISSING, testUnless } from "../../test/support/unless.ts";
import { type FolderObjects, folderObjects } from "./folder-objects.ts";

let folder: string;
let objects: FolderObjects;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-objects-"));
  objects = folderObjects(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const text = async (bytes: Promise<Uint8Array>): Promise<string> => Buffer.from(await bytes).toString();

test("temporary files are never listed", async () => {
  await objects.put("a", Buffer.from("x"));
  writeFileSync(join(folder, ".temporary", "left"), "half of a put");
  expect(await objects.list("")).toEqual([{ key: "a", bytes: 1 }]);
  expect(await folderObjects(join(folder, "nothing")).list("")).toEqual([]);
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

testUnless(MISSING.root)("an object that does not fit is refused as disk_full and leaves nothing behind", async () => {
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
