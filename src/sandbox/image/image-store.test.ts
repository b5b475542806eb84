import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemRuntime } from "../../runtime/system.ts";
import type { ImageEvent, ImageStore } from "./image-contract.ts";
import { type ImageStoreOptions, openImageStore } from "./image-store.ts";
import { type FixtureMember, oneChunk, tarOf } from "./tar-fixture-support.ts";

const runtime = systemRuntime();
const uid = process.geteuid?.() ?? 0;
/** Any user can run these: every file belongs to that user. */
const ownership = { base: uid, isSingle: true };

let folder: string;
let stores: ImageStore[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-images-"));
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  const build = join(folder, "store/build");
  expect(existsSync(build) ? readdirSync(build) : []).toEqual([]);
  rmSync(folder, { recursive: true });
});

function open(options: Partial<ImageStoreOptions> = {}): ImageStore {
  const store = openImageStore({ runtime, folder: join(folder, "store"), ownership, ...options });
  stores.push(store);
  return store;
}

function tarFile(name: string, members: readonly FixtureMember[]): string {
  writeFileSync(join(folder, name), tarOf(members));
  return `tar:${join(folder, name)}`;
}

const TREE: readonly FixtureMember[] = [
  { path: "bin/", type: "5" },
  { path: "bin/tool", body: "#!/bin/sh\n", mode: 0o755 },
  { path: "data/a", body: "aaaa" },
  { path: "data/b", body: "bbbb" },
];

test("an image of a tar file has what a sandbox counts on, and is there at once the second time", async () => {
  const reference = tarFile("tree.tar", TREE);
  const image = await open().resolve(reference);
  const root = join(folder, "store", image.lowers[0] ?? "");
  expect(image.lowers).toEqual([`${image.hash}/self-${uid}`]);
  expect([image.pinned, image.bindsSystem]).toEqual([true, false]);
  expect(readFileSync(join(root, "bin/tool"), "utf8")).toBe("#!/bin/sh\n");
  for (const name of ["proc", "sys", "dev", "tmp", "home/agent"])
    expect(lstatSync(join(root, name)).isDirectory()).toBe(true);
  expect(readFileSync(join(root, "etc/passwd"), "utf8")).toContain("agent:x:1000:1000:");
  expect(readFileSync(join(root, "etc/resolv.conf"), "utf8")).toBe("");

  const events: ImageEvent[] = [];
  expect(await open().resolve(reference, { onEvent: (event) => events.push(event) })).toEqual(image);
  expect(events).toEqual([{ kind: "image-ready", hash: image.hash, isFresh: false }]);
});

test("equal trees are one image, whatever they came from", async () => {
  const source = join(folder, "source");
  mkdirSync(join(source, "bin"), { recursive: true, mode: 0o755 });
  mkdirSync(join(source, "data"), { mode: 0o755 });
  for (const [path, text, mode] of [
    ["bin/tool", "#!/bin/sh\n", 0o755],
    ["data/a", "aaaa", 0o644],
    ["data/b", "bbbb", 0o644],
  ] as const) {
    writeFileSync(join(source, path), text);
    chmodSync(join(source, path), mode);
  }
  const store = open();
  const fromTar = await store.resolve(tarFile("tree.tar", TREE));
  const fromFolder = await store.resolve(`folder:${source}`);
  expect(fromFolder.hash).toBe(fromTar.hash);
  const [only, ...more] = await store.list();
  expect(more).toEqual([]);
  expect(only?.references.length).toBe(2);
  expect((await store.resolve(`sha256:${fromTar.hash}`)).lowers).toEqual(fromTar.lowers);
});

test.each([
  ["a byte", { path: "data/a", body: "aaab" }],
  ["a mode", { path: "data/a", body: "aaaa", mode: 0o600 }],
  ["a name", { path: "data/c", body: "aaaa" }],
  ["a link", { path: "data/a", type: "2", link: "b" }],
] satisfies readonly (readonly [string, FixtureMember])[])("another %s is another image", async (_title, member) => {
  const store = open();
  const [tool, bin, , b] = TREE as [FixtureMember, FixtureMember, FixtureMember, FixtureMember];
  const first = await store.resolve(tarFile("one.tar", TREE));
  expect((await store.resolve(tarFile("two.tar", [tool, bin, member, b]))).hash).not.toBe(first.hash);
});

test("a changed file is seen by the next store, not by one that has resolved it", async () => {
  const store = open();
  const reference = tarFile("tree.tar", TREE);
  const before = await store.resolve(reference);
  tarFile("tree.tar", [...TREE, { path: "more", body: "x" }]);
  expect(await store.resolve(reference)).toEqual(before);
  expect((await open().resolve(reference)).hash).not.toBe(before.hash);
});

test("a bad archive is told with its member, and nothing of it stays", async () => {
  const store = open();
  const reference = tarFile("bad.tar", [...TREE, { path: "../outside", body: "x" }]);
  await expect(store.resolve(reference)).rejects.toMatchObject({
    code: "image_unavailable",
    message: `Image "${reference}" has the member "../outside", whose path leads upwards by "..".`,
  });
  expect(await store.list()).toEqual([]);
});

test.each([
  ["etc", [{ path: "etc", type: "2", link: "/tmp" }], /has \/etc, which must be a folder/],
  ["proc", [{ path: "proc", type: "2", link: "/" }], /has \/proc, which must be a folder/],
  ["passwd", [{ path: "etc/passwd/", type: "5" }], /has a folder at \/etc\/passwd/],
] satisfies readonly (readonly [string, readonly FixtureMember[], RegExp])[])(
  "an image cannot turn our own writing elsewhere by its %s",
  async (_title, members, reason) => {
    await expect(open().resolve(tarFile("bad.tar", members))).rejects.toThrow(reason);
  },
);

test("a link in place of a file we write is replaced, not followed", async () => {
  writeFileSync(join(folder, "victim"), "untouched");
  const image = await open().resolve(
    tarFile("sly.tar", [{ path: "etc/hosts", type: "2", link: join(folder, "victim") }]),
  );
  expect(readFileSync(join(folder, "victim"), "utf8")).toBe("untouched");
  expect(lstatSync(join(folder, "store", image.lowers[0] ?? "", "etc/hosts")).isFile()).toBe(true);
});

test.each([
  ["nonsense", "is no image reference"],
  ["debain:bookworm", "did you mean debian:?"],
  ["debian:", "is no image reference"],
  ["debian:Book Worm", '"Book Worm" is no suite'],
  ["debian:bookworm+py thon", '"py thon" is no package name'],
  ["debian:bookworm@yesterday", '"yesterday" is no day'],
  ["oci:--help", '"--help" is no image name'],
])("the reference %s is refused as malformed", async (reference, reason) => {
  await expect(open().resolve(reference)).rejects.toMatchObject({
    code: "request_invalid",
    message: expect.stringContaining(reason),
  });
});

test.each([
  ["tar:/nowhere/at/all.tar", "there is no such file"],
  ["folder:/nowhere/at/all", "there is no such folder"],
  ["folder:/", "the machine's own root is no image"],
  ["dockerfile:/nowhere", "/nowhere/Dockerfile is missing"],
  ["recipe:nowhere-at-all", "There is no image recipe"],
  [`sha256:${"0".repeat(64)}`, "is not in the store"],
  ["debian:bookworm@20250101", "needs a snapshot mirror"],
])("the reference %s says why it cannot be had", async (reference, reason) => {
  await expect(open({ snapshotMirror: null }).resolve(reference)).rejects.toMatchObject({
    code: "image_unavailable",
    message: expect.stringContaining(reason),
  });
});

test("verify finds a flipped byte, a changed mode and a missing layer", async () => {
  const store = open();
  const { hash, lowers } = await store.resolve(tarFile("tree.tar", TREE));
  const root = join(folder, "store", lowers[0] ?? "");
  expect(await store.verify(hash)).toEqual({ hash, isIntact: true, changed: [] });
  writeFileSync(join(root, "data/a"), "aaaA");
  expect(await store.verify(hash.slice(0, 10))).toEqual({ hash, isIntact: false, changed: [hash] });
  writeFileSync(join(root, "data/a"), "aaaa");
  expect((await store.verify(`sha256:${hash}`)).isIntact).toBe(true);
  chmodSync(join(root, "data/a"), 0o640);
  expect((await store.verify(hash)).isIntact).toBe(false);
  rmSync(root, { recursive: true });
  expect((await store.verify(hash)).isIntact).toBe(false);
  await expect(store.verify("0".repeat(64))).rejects.toMatchObject({ code: "not_found" });
});

test("garbage goes by last use, and what a live process holds stays", async () => {
  const held = open();
  const inUse = await held.resolve(tarFile("held.tar", [{ path: "held", body: "h".repeat(1_000) }]));
  const other = open();
  const old = await other.resolve(tarFile("old.tar", [{ path: "old", body: "o".repeat(1_000) }]));
  const recent = await other.resolve(tarFile("new.tar", [{ path: "new", body: "n".repeat(1_000) }]));
  await other.close();
  const size = (await held.list()).find(({ hash }) => hash === recent.hash)?.bytes ?? 0;
  await expect(held.remove(inUse.hash)).rejects.toMatchObject({ code: "sandbox_busy" });

  const some = await held.gc({ keepBytes: 2 * size + 100 });
  expect(some.removed).toEqual([old.hash]);
  expect(some.bytesFreed).toBe(size);
  const all = await held.gc({ keepBytes: 0 });
  expect(all).toMatchObject({ removed: [recent.hash], kept: [inUse.hash] });
  expect(readdirSync(join(folder, "store")).filter((name) => /^[0-9a-f]{64}$/.test(name))).toEqual([inUse.hash]);
  expect((await held.verify(inUse.hash)).isIntact).toBe(true);
});

test("an image whose record was damaged is built again, not guessed", async () => {
  const reference = tarFile("tree.tar", TREE);
  const image = await open().resolve(reference);
  const records = join(folder, "store/record", `self-${uid}`, "image");
  for (const name of readdirSync(records)) writeFileSync(join(records, name), '{"hash":');
  const events: ImageEvent[] = [];
  expect(await open().resolve(reference, { onEvent: (event) => events.push(event) })).toEqual(image);
  expect(events.at(-1)).toMatchObject({ isFresh: true });
});

test("a layer on an image is an image of its own, and equal layers are one", async () => {
  const store = open();
  const base = await store.resolve(
    tarFile("tree.tar", [...TREE, { path: "deep/", type: "5", mode: 0o700 }, { path: "deep/x", body: "x" }]),
  );
  const layer = tarOf([
    { path: "data/c", body: "cccc" },
    { path: "deep/y", body: "y" },
    { path: ".wh.bin" },
    { path: "data/.wh.a" },
    { path: "data/.wh.never" },
  ]);
  const derived = await store.derive(base, oneChunk(layer));
  expect(derived.lowers.slice(1)).toEqual(base.lowers);
  expect(derived.reference).toBe(`sha256:${derived.hash}`);
  const top = join(folder, "store", derived.lowers[0] ?? "");
  expect(readFileSync(join(top, "data/c"), "utf8")).toBe("cccc");
  for (const gone of ["bin", "data/a"]) expect(lstatSync(join(top, gone))).toMatchObject({ rdev: 0 });
  expect(lstatSync(join(top, "bin")).isCharacterDevice()).toBe(true);
  expect(existsSync(join(top, "data/never"))).toBe(false);
  expect(lstatSync(join(top, "deep")).mode & 0o777).toBe(0o700);
  expect((await store.derive(base, oneChunk(layer))).hash).toBe(derived.hash);
  expect((await store.verify(derived.hash)).isIntact).toBe(true);
  await store.close();
  const report = await open().remove(derived.hash);
  expect(report.kept).toEqual([base.hash]);
  expect(existsSync(join(folder, "store", base.lowers[0] ?? ""))).toBe(true);
  await expect(store.derive(base, oneChunk(tarOf([{ path: "/abs", body: "x" }])))).rejects.toThrow(
    /member "\/abs".*absolute/,
  );
});

/** A process of its own that resolves one reference and prints its events. */
function otherProcess(reference: string): {
  readonly child: ChildProcess;
  readonly lines: Promise<string[]>;
  firstStep: Promise<void>;
} {
  const here = (name: string): string => pathToFileURL(join(import.meta.dirname, name)).href;
  const code = `
    import { openImageStore } from ${JSON.stringify(here("image-store.ts"))};
    import { systemRuntime } from ${JSON.stringify(here("../../runtime/system.ts"))};
    const store = openImageStore({ runtime: systemRuntime(), folder: ${JSON.stringify(join(folder, "store"))}, ownership: ${JSON.stringify(ownership)} });
    await store.resolve(${JSON.stringify(reference)}, { onEvent: (event) => console.log(JSON.stringify(event)) });
    await store.close();`;
  const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  let step = (): void => undefined;
  const firstStep = new Promise<void>((resolve) => {
    step = resolve;
  });
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    if (text.includes("unpacking")) step();
  });
  const lines = new Promise<string[]>((resolve) => child.on("close", () => resolve(text.trim().split("\n"))));
  return { child, lines, firstStep };
}

const MANY: readonly FixtureMember[] = Array.from({ length: 800 }, (_, index) => ({
  path: `d/f${index}`,
  body: `${index}`,
}));

test("processes that want the same image at once build it once", async () => {
  const reference = tarFile("many.tar", MANY);
  const outputs = await Promise.all(
    [otherProcess(reference), otherProcess(reference), otherProcess(reference)].map(({ lines }) => lines),
  );
  const ends = outputs.map(
    (lines) => JSON.parse(lines.at(-1) ?? "{}") as { readonly isFresh: boolean; readonly hash: string },
  );
  expect(ends.filter(({ isFresh }) => isFresh).length).toBe(1);
  expect(new Set(ends.map(({ hash }) => hash)).size).toBe(1);
});

test("a process killed in the middle of a build leaves no image, and the next build is not held up", async () => {
  const reference = tarFile("many.tar", MANY);
  const { child, lines, firstStep } = otherProcess(reference);
  await firstStep;
  child.kill("SIGKILL");
  await lines;
  const store = open();
  expect(await store.list()).toEqual([]);
  expect(readdirSync(join(folder, "store/build")).length).toBe(1);
  const image = await store.resolve(reference);
  expect((await store.verify(image.hash)).isIntact).toBe(true);
  expect(readdirSync(join(folder, "store/build"))).toEqual([]);
});

test("a cancelled build ends, and another caller of the same store goes on with it", async () => {
  const reference = tarFile("many.tar", MANY);
  const store = open();
  const controller = new AbortController();
  const first = store.resolve(reference, {
    signal: controller.signal,
    onEvent: (event) => {
      if (event.kind === "step-started") controller.abort();
    },
  });
  const second = store.resolve(reference);
  await expect(first).rejects.toMatchObject({ code: "cancelled" });
  expect((await second).hash).toMatch(/^[0-9a-f]{64}$/);
});

test("an image whose layer somebody deleted counts as missing, and is built again where its source is there", async () => {
  const reference = tarFile("tree.tar", TREE);
  const { hash } = await open().resolve(reference);
  rmSync(join(folder, "store", hash), { recursive: true });
  await expect(open().resolve(`sha256:${hash}`)).rejects.toMatchObject({
    code: "image_unavailable",
    message: expect.stringContaining("is not in the store"),
  });
  const events: ImageEvent[] = [];
  const again = await open().resolve(reference, { onEvent: (event) => events.push(event) });
  expect(events.at(-1)).toMatchObject({ kind: "image-ready", isFresh: true });
  expect(existsSync(join(folder, "store", again.lowers[0] ?? "", "data/a"))).toBe(true);
});

test("a file where the store or a layer should be is told with its path and a remedy", async () => {
  const reference = tarFile("tree.tar", TREE);
  const { hash } = await open().resolve(reference);
  const store = join(folder, "store");
  rmSync(join(store, hash), { recursive: true });
  writeFileSync(join(store, hash), "");
  const refusal = {
    code: "image_unavailable",
    message: expect.stringMatching(/^The image store .*store cannot be used \(E.*remove what lies there/),
  };
  await expect(open().resolve(reference)).rejects.toMatchObject(refusal);
  rmSync(store, { recursive: true });
  writeFileSync(store, "");
  await expect(open().resolve(reference)).rejects.toMatchObject(refusal);
  rmSync(store);
});

test.each(["recipe:", "oci:", "sha256:abc"])(
  "%s without its other half is not answered with itself",
  async (reference) => {
    await expect(open().resolve(reference)).rejects.toThrow(/is no image reference; write host/);
  },
);
