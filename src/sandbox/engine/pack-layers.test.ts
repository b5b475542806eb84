import { execFileSync } from "node:child_process";
import {
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packLayers } from "./pack-layers.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-pack-"));
  for (const name of ["top", "middle", "bottom", "out"]) mkdirSync(join(folder, name));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What a system's own tar makes of the packed layers. */
async function unpacked(layers: readonly string[], idBase = 0): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of packLayers(
    layers.map((name) => join(folder, name)),
    idBase,
  ))
    chunks.push(chunk);
  const out = join(folder, "out");
  execFileSync("tar", ["-C", out, "-x", "--numeric-owner", "-p"], { input: Buffer.concat(chunks) });
  return out;
}

test("files, modes, links and names of any length and any bytes arrive as they were", async () => {
  const top = join(folder, "top");
  const long = `${"d".repeat(90)}/${"e".repeat(90)}/${"f".repeat(200)}`;
  mkdirSync(join(top, "d".repeat(90), "e".repeat(90)), { recursive: true });
  writeFileSync(join(top, long), "deep");
  writeFileSync(join(top, "program"), "#!/bin/sh\n", { mode: 0o750 });
  writeFileSync(join(top, "block"), "x".repeat(1_024));
  writeFileSync(Buffer.concat([Buffer.from(`${top}/odd-`), Buffer.from([0xff, 0x0a])]), "odd");
  symlinkSync("/".repeat(150), join(top, "far"));
  linkSync(join(top, "program"), join(top, "second"));
  const out = await unpacked(["top"]);
  expect(readFileSync(join(out, long), "utf8")).toBe("deep");
  expect(lstatSync(join(out, "program")).mode & 0o7777).toBe(0o750);
  expect(readFileSync(join(out, "block")).length).toBe(1_024);
  expect(readlinkSync(join(out, "far"))).toBe("/".repeat(150));
  expect(readFileSync(join(out, "second"), "utf8")).toBe("#!/bin/sh\n");
  expect(readdirSync(out, { encoding: "latin1" })).toContain("odd-\xff\n");
});

test("upper layers win, folders are joined, and what a layer took away stays away", async () => {
  for (const [layer, names] of Object.entries({
    top: ["a", "new"],
    middle: ["a", "b"],
    bottom: ["a", "b", "c", "gone"],
  }))
    for (const name of names) {
      mkdirSync(join(folder, layer, "shared"), { recursive: true });
      writeFileSync(join(folder, layer, "shared", name), layer);
    }
  mkdirSync(join(folder, "bottom", "old"));
  writeFileSync(join(folder, "bottom", "old", "below"), "bottom");
  for (const name of ["shared/gone", "old"]) execFileSync("mknod", [join(folder, "middle", name), "c", "0", "0"]);
  const out = await unpacked(["top", "middle", "bottom"]);
  expect(readdirSync(out)).toEqual(["shared"]);
  const found = readdirSync(join(out, "shared")).map((name) => [name, readFileSync(join(out, "shared", name), "utf8")]);
  expect(found).toEqual([
    ["a", "top"],
    ["b", "middle"],
    ["c", "bottom"],
    ["new", "top"],
  ]);
});

test("owners are moved to the ids the image means", async () => {
  writeFileSync(join(folder, "top", "mine"), "");
  chownSync(join(folder, "top", "mine"), 101_000, 100_000);
  const out = await unpacked(["top"], 100_000);
  expect(lstatSync(join(out, "mine"))).toMatchObject({ uid: 1_000, gid: 0 });
});

test("devices, FIFOs and sockets are left out", async () => {
  execFileSync("mkfifo", [join(folder, "top", "pipe")]);
  execFileSync("mknod", [join(folder, "top", "null"), "c", "1", "3"]);
  expect(readdirSync(await unpacked(["top"]))).toEqual([]);
});
