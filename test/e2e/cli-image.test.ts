/** `sandlot image` as a person and a script use it, on a store of its own. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanEnvVars, type Ended, sandlot } from "./run-program.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-cli-image-"));
  mkdirSync(join(folder, "tree/app"), { recursive: true });
  writeFileSync(join(folder, "tree/app/file"), "content");
});
afterEach(() => rmSync(folder, { recursive: true }));

function image(...args: string[]): Promise<Ended> {
  return sandlot(["image", ...args], { envVars: cleanEnvVars({ XDG_CACHE_HOME: join(folder, "cache") }) });
}

test("an image is imported, listed, verified, found changed, and removed", async () => {
  const imported = await image("import", join(folder, "tree"), "--json");
  expect(imported).toMatchObject({ exitCode: 0 });
  const { hash, isFresh } = JSON.parse(imported.stdout) as { readonly hash: string; readonly isFresh: boolean };
  expect(isFresh).toBe(true);
  expect(imported.stderr).toContain("copying");
  expect((await image("import", join(folder, "tree"))).stdout).toContain("was in the store");

  const listed = JSON.parse((await image("list", "--json")).stdout) as { readonly images: readonly object[] };
  expect(listed.images).toMatchObject([{ hash, layers: 1, holders: 0, isIntact: null }]);
  expect((await image("verify", hash.slice(0, 12))).exitCode).toBe(0);

  const variants = join(folder, "cache/sandlot/images", hash);
  writeFileSync(join(variants, readdirSync(variants)[0] ?? "", "app/file"), "CONTENT");
  expect(await image("verify")).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining(`changed  sha256:${hash}`),
  });
  expect(await image("list", "--verify")).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("CHANGED") });

  expect(await image("rm", hash)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("1 image removed") });
  expect((await image("list")).stdout).toContain("No image is in the store yet.");
});

test("garbage collection keeps what it was told to keep", async () => {
  await image("import", join(folder, "tree"));
  expect(JSON.parse((await image("gc", "--json")).stdout)).toMatchObject({ removed: [], bytesFreed: 0 });
  const all = JSON.parse((await image("gc", "--keep", "0", "--json")).stdout) as {
    readonly removed: readonly string[];
  };
  expect(all.removed.length).toBe(1);
});

test.each([
  [["build", "nonsense"], 2, "is no image reference"],
  [["build", "recipe:opps"], 3, "did you mean recipe:ops?"],
  [["build", "tar:/no/such.tar"], 3, "there is no such file"],
  [["import", "/no/such/thing"], 2, "There is no file or folder"],
  [["rm", "no-such-image"], 2, "There is no image"],
  [["gc", "--keep", "lots"], 2, "It must be a number of GiB"],
  [["import", "/dev/zero"], 3, "that is no regular file"],
  [["build", "recipe:../../etc/passwd"], 3, '"../../etc/passwd". Known:'],
])("image %j ends with %i and one sentence", async (args, exitCode, words) => {
  const ended = await image(...args);
  expect(ended).toMatchObject({ exitCode, stderr: expect.stringContaining(words) });
  expect(ended.stderr).not.toContain("    at ");
});
