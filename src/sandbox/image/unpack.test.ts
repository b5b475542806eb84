import { spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MISSING, testUnless } from "../../../test/support/unless.ts";
import { decompressed } from "./byte-reader.ts";
import type { ImageOwnership } from "./image-contract.ts";
import { type FixtureMember, oneChunk, smallChunks, tarOf } from "./tar-fixture-support.ts";
import { readTar } from "./tar-read.ts";
import { hashTree } from "./tree-hash.ts";
import { Unpacker, type UnpackLimits } from "./unpack.ts";

const OWN: ImageOwnership = { base: process.geteuid?.() ?? 0, isSingle: true };

let folder: string;
let root: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-unpack-"));
  root = join(folder, "root");
  mkdirSync(root);
  writeFileSync(join(folder, "outside"), "untouched");
});
afterEach(() => {
  expect(readFileSync(join(folder, "outside"), "utf8")).toBe("untouched");
  expect(readdirSync(folder).sort()).toEqual(["outside", "root"]);
  rmSync(folder, { recursive: true });
});

async function unpack(
  members: readonly FixtureMember[] | Uint8Array,
  options: { readonly limits?: UnpackLimits; readonly ownership?: ImageOwnership } = {},
): Promise<void> {
  const bytes = members instanceof Uint8Array ? members : tarOf(members);
  const tree = new Unpacker(root, { ownership: OWN, ...options });
  await tree.lay(readTar(decompressed(oneChunk(bytes))));
  tree.finish();
}

const HOSTILE: readonly (readonly [string, readonly FixtureMember[], RegExp])[] = [
  ["an absolute path", [{ path: "/etc/passwd", body: "x" }], /member "\/etc\/passwd", whose path is absolute/],
  ["a path that leads upwards", [{ path: "a/../../outside", body: "x" }], /member "a\/\.\.\/\.\.\/outside".*upwards/],
  ["an upward path that would stay inside", [{ path: "a/../b", body: "x" }], /"a\/\.\.\/b".*upwards/],
  [
    "a file through a link",
    [
      { path: "l", type: "2", link: ".." },
      { path: "l/outside", body: "x" },
    ],
    /"l\/outside" below "l", which is a link/,
  ],
  [
    "a folder through a link",
    [
      { path: "l", type: "2", link: "/tmp" },
      { path: "l/made/", type: "5" },
    ],
    /"l\/made\/" below "l"/,
  ],
  [
    "a link through a link",
    [
      { path: "l", type: "2", link: ".." },
      { path: "l/m", type: "2", link: "x" },
    ],
    /"l\/m" below "l"/,
  ],
  [
    "a hard link out of the tree",
    [{ path: "h", type: "1", link: "../outside" }],
    /"h", whose hard link target leads upwards/,
  ],
  [
    "a hard link to an absolute path",
    [{ path: "h", type: "1", link: "/etc/shadow" }],
    /"h", whose hard link target is absolute/,
  ],
  [
    "a hard link through a link",
    [
      { path: "l", type: "2", link: ".." },
      { path: "h", type: "1", link: "l/outside" },
    ],
    /"h" below "l"/,
  ],
  ["a hard link to nothing", [{ path: "h", type: "1", link: "absent" }], /hard link "h" to "absent"/],
  ["a character device", [{ path: "etc/null", type: "3" }], /"etc\/null", a device/],
  ["a block device", [{ path: "sda", type: "4" }], /"sda", a device/],
  ["a FIFO", [{ path: "pipe", type: "6" }], /"pipe", a fifo/],
  ["a type of the future", [{ path: "odd", type: "Z" }], /"odd" of type "Z"/],
  ["a sparse file", [{ path: "s", pax: { "GNU.sparse.major": "1" } }], /sparse member "s"/],
  ["an id beyond the sandbox's range", [{ path: "f", uid: 70_000 }], /"f", which belongs to id 70000/],
  ["a name that is too long", [{ path: "f", pax: { path: "n".repeat(256) } }], /has a name of over 255 bytes/],
  ["a path that is too long", [{ path: "f", pax: { path: "n/".repeat(2_100) } }], /is over 4095 bytes long/],
  ["a link that leads nowhere", [{ path: "l", type: "2", link: "" }], /link "l", which leads nowhere/],
  ["a whiteout of nothing", [{ path: ".wh." }], /whiteout ".wh.", which names nothing/],
  ["a whiteout upwards", [{ path: ".wh..." }], /whiteout ".wh...", which names nothing/],
  [
    "a file as the root",
    [
      { path: "./", type: "0", body: "" },
      { path: ".", type: "0", body: "x" },
    ],
    /file as the root/,
  ],
];

test.each(HOSTILE)("%s is refused by its name and leaves nothing outside", async (_title, members, reason) => {
  await expect(unpack(members)).rejects.toThrow(reason);
});

const BROKEN: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["an empty file", new Uint8Array(), /cut short/],
  ["no archive at all", Buffer.from("#!/bin/sh\necho hello\n".repeat(40)), /checksum|no number/],
  [
    "an archive cut in a body",
    tarOf([{ path: "f", body: "x".repeat(4_000) }]).subarray(0, 2_000),
    /inside the member "f"; it was cut short/,
  ],
  ["an archive without its end", tarOf([{ path: "f" }]).subarray(0, 512), /without the end mark/],
  [
    "gzip that is damaged",
    gzipSync(tarOf([{ path: "f", body: "x".repeat(9_000) }])).subarray(0, 60),
    /broken gzip data/,
  ],
  ["xz", Buffer.from("fd377a585a000004", "hex"), /compressed by xz/],
];

test.each(BROKEN)("%s is refused with what is wrong with it", async (_title, bytes, reason) => {
  await expect(unpack(bytes)).rejects.toThrow(reason);
});

test("a pax header that lies about its length is refused", async () => {
  const bytes = tarOf([{ path: "f", pax: { path: "name" } }]);
  bytes.write("99", 512, "latin1");
  await expect(unpack(bytes)).rejects.toThrow(/pax header that cannot be read/);
});

test("an archive stops at its limits of bytes and of members", async () => {
  const many = Array.from({ length: 12 }, (_, index) => ({ path: `f${index}`, body: "0123456789" }));
  await expect(unpack(many, { limits: { bytesMax: 1_000, entriesMax: 10 } })).rejects.toThrow(/over 10 members/);
  await expect(unpack(many, { limits: { bytesMax: 55, entriesMax: 100 } })).rejects.toThrow(
    /over 55 bytes, reached at the member "f5"/,
  );
});

test("setuid and setgid bits are cleared, other bits, times and links are kept", async () => {
  await unpack([
    { path: "bin/", mode: 0o2755 },
    { path: "bin/su", body: "x", mode: 0o4755, modifiedAt: 1_234_567_890 },
    { path: "tmp/", mode: 0o1777, modifiedAt: 1_111_111_111 },
    { path: "tmp/run", body: "y", mode: 0o2711 },
    { path: "abs", type: "2", link: "/etc/passwd" },
    { path: "same", type: "1", link: "bin/su" },
  ]);
  const mode = (path: string): string => (lstatSync(join(root, path)).mode & 0o7777).toString(8);
  expect([mode("bin"), mode("bin/su"), mode("tmp"), mode("tmp/run")]).toEqual(["755", "755", "1777", "711"]);
  expect(lstatSync(join(root, "bin/su")).mtimeMs).toBe(1_234_567_890_000);
  expect(lstatSync(join(root, "tmp")).mtimeMs).toBe(1_111_111_111_000);
  expect(readlinkSync(join(root, "abs"))).toBe("/etc/passwd");
  expect(lstatSync(join(root, "same")).ino).toBe(lstatSync(join(root, "bin/su")).ino);
});

test("extended attributes of an archive are dropped", async () => {
  await unpack([
    { path: "f", body: "x", pax: { "SCHILY.xattr.user.overlay.opaque": "y", "SCHILY.xattr.security.capability": "z" } },
  ]);
  const { stdout } = spawnSync("python3", ["-c", "import os,sys; print(os.listxattr(sys.argv[1]))", join(root, "f")]);
  expect(stdout.toString().trim()).toBe("[]");
});

test("members below dev, proc and sys are left out, since a sandbox mounts its own", async () => {
  await unpack([
    { path: "dev/", type: "5" },
    { path: "dev/null", type: "3" },
    { path: "proc/1/mem", body: "x" },
    { path: "etc/", type: "5" },
  ]);
  expect(readdirSync(root).sort()).toEqual(["dev", "etc"]);
  expect(readdirSync(join(root, "dev"))).toEqual([]);
});

test("names that are no UTF-8 come out byte for byte", async () => {
  await unpack([{ path: "caf\xe9 \n\x01", body: "x" }]);
  expect(readdirSync(root, { encoding: "buffer" })).toEqual([Buffer.from("caf\xe9 \n\x01", "latin1")]);
});

test("a later member replaces an earlier one of another kind", async () => {
  await unpack([
    { path: "a/b", body: "deep" },
    { path: "a", type: "2", link: "elsewhere" },
    { path: "c", type: "2", link: "/etc/passwd" },
    { path: "c", body: "now a file" },
    { path: "d", body: "file" },
    { path: "d/e", body: "x" },
  ]).catch((error: unknown) => expect(String(error)).toMatch(/"d\/e" below "d", which is no folder/));
  expect(readlinkSync(join(root, "a"))).toBe("elsewhere");
  expect(readFileSync(join(root, "c"), "utf8")).toBe("now a file");
});

test("a layer's whiteouts take away what lies below, and nothing the layer itself brings", async () => {
  const tree = new Unpacker(root, { ownership: OWN });
  const lay = (members: readonly FixtureMember[]): Promise<void> => tree.lay(readTar(oneChunk(tarOf(members))));
  await lay([
    { path: "keep", body: "1" },
    { path: "gone", body: "1" },
    { path: "d/old", body: "1" },
    { path: "d/sub/old", body: "1" },
    { path: "e/x", body: "1" },
  ]);
  await lay([
    { path: ".wh.gone" },
    { path: "d/new", body: "2" },
    { path: "d/.wh..wh..opq" },
    { path: "d/sub/fresh", body: "2" },
    { path: ".wh.e" },
    { path: "e/y", body: "2" },
    { path: ".wh.never" },
  ]);
  tree.finish();
  const { stdout } = spawnSync("find", [".", "-type", "f"], { cwd: root });
  expect(stdout.toString().trim().split("\n").sort()).toEqual(["./d/new", "./d/sub/fresh", "./e/y", "./keep"]);
});

testUnless(MISSING.root)("files belong to the sandbox's ids", async () => {
  await unpack(
    [
      { path: "f", uid: 0 },
      { path: "g", uid: 105, gid: 110 },
    ],
    { ownership: { base: 100_000, isSingle: false } },
  );
  const { uid, gid } = lstatSync(join(root, "g"));
  expect([lstatSync(join(root, "f")).uid, uid, gid]).toEqual([100_000, 100_105, 100_110]);
});

test("gzip, zstd and plain archives, in whatever pieces, and what GNU tar writes, give one tree", async () => {
  const long = `${"deep/".repeat(30)}${"name".repeat(20)}`;
  await unpack([{ path: "f", pax: { path: long }, body: "x".repeat(70_000) }, { path: "empty" }]);
  const expected = await hashTree(root, OWN);
  const packed = spawnSync("tar", ["--format=gnu", "-C", root, "-cf", "-", "."], { maxBuffer: 1 << 24 }).stdout;
  for (const [bytes, size] of [
    [packed, 7],
    [gzipSync(packed), 513],
    [zstdCompressSync(packed), 1],
  ] as const) {
    rmSync(root, { recursive: true });
    mkdirSync(root);
    const tree = new Unpacker(root, { ownership: OWN });
    await tree.lay(readTar(decompressed(smallChunks(bytes, size))));
    tree.finish();
    expect(await hashTree(root, OWN)).toEqual(expected);
  }
});

test("damaged archives end in a tree or a refusal, never in another error", async () => {
  const good = tarOf([
    { path: "a/", type: "5" },
    { path: "a/f", body: "hello" },
    { path: "l", type: "2", link: "a" },
    { path: "h", type: "1", link: "a/f" },
  ]);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      async (edits) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of edits) bytes[at] = value;
        rmSync(root, { recursive: true });
        mkdirSync(root);
        const outcome = await unpack(bytes).catch((error: unknown) => error);
        if (outcome !== undefined) expect((outcome as Error).name).toBe("ArchiveError");
      },
    ),
    { numRuns: 300 },
  );
});
