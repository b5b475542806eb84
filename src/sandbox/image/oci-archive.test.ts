import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemRuntime } from "../../runtime/system.ts";
import type { ResolvedImage } from "./image-contract.ts";
import { openImageStore } from "./image-store.ts";
import { type FixtureMember, tarOf } from "./tar-fixture-support.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-oci-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const LAYERS: readonly (readonly FixtureMember[])[] = [
  [
    { path: "app/keep", body: "1" },
    { path: "app/gone", body: "1" },
    { path: "cache/old", body: "1" },
  ],
  [{ path: "app/.wh.gone" }, { path: "cache/.wh..wh..opq" }, { path: "cache/new", body: "2" }],
];
const CONFIG = Buffer.from(JSON.stringify({ config: { Env: ["A=1", "B=x=y"], WorkingDir: "/app" } }));

/** An OCI layout with each layer compressed in its own way. */
function ociMembers(change: (blobs: Map<string, Buffer>) => void = () => undefined): FixtureMember[] {
  const layers = [gzipSync(tarOf(LAYERS[0] ?? [])), zstdCompressSync(tarOf(LAYERS[1] ?? []))];
  const manifest = Buffer.from(
    JSON.stringify({
      config: { digest: `sha256:${digestOf(CONFIG)}` },
      layers: layers.map((layer) => ({ digest: `sha256:${digestOf(layer)}` })),
    }),
  );
  const blobs = new Map([CONFIG, manifest, ...layers].map((blob) => [digestOf(blob), blob]));
  change(blobs);
  const index = JSON.stringify({ manifests: [{ digest: `sha256:${digestOf(manifest)}` }] });
  return [
    { path: "oci-layout", body: '{"imageLayoutVersion":"1.0.0"}' },
    { path: "index.json", body: index },
    ...[...blobs].map(([digest, body]) => ({ path: `blobs/sha256/${digest}`, body })),
  ];
}

async function resolve(bytes: Uint8Array, kind = "tar"): Promise<ResolvedImage> {
  const file = join(folder, "image.tar");
  writeFileSync(file, bytes);
  const ownership = { base: process.geteuid?.() ?? 0, isSingle: true };
  const store = openImageStore({ runtime: systemRuntime(), folder: join(folder, "store"), ownership });
  try {
    return await store.resolve(`${kind}:${file}`);
  } finally {
    await store.close();
  }
}

function expectWhole({ lowers, envVars, workdir }: ResolvedImage): void {
  const root = join(folder, "store", lowers[0] ?? "");
  expect(readFileSync(join(root, "cache/new"), "utf8")).toBe("2");
  for (const gone of ["app/gone", "cache/old", "app/.wh.gone"]) expect(existsSync(join(root, gone))).toBe(false);
  expect(existsSync(join(root, "app/keep"))).toBe(true);
  expect([envVars, workdir, lowers.length]).toEqual([{ A: "1", B: "x=y" }, "/app", 1]);
}

test("an OCI archive is read without an engine, its layers laid one over another", async () => {
  expectWhole(await resolve(tarOf(ociMembers())));
  expectWhole(await resolve(tarOf(ociMembers()), "oci:oci-archive"));
});

test("a compressed archive is the same image", async () => {
  const plain = await resolve(tarOf(ociMembers()));
  expect((await resolve(gzipSync(tarOf(ociMembers())))).hash).toBe(plain.hash);
});

test("Docker's own format is read too", async () => {
  const members: FixtureMember[] = [
    { path: "abc/", type: "5" },
    ...LAYERS.map((layer, index) => ({ path: `layer${index}/layer.tar`, body: tarOf(layer) })),
    { path: "config.json", body: CONFIG },
    {
      path: "manifest.json",
      body: JSON.stringify([{ Config: "config.json", Layers: ["layer0/layer.tar", "layer1/layer.tar"] }]),
    },
  ];
  expectWhole(await resolve(tarOf(members.slice(1).toReversed())));
});

test("a layer whose bytes are not those of its digest is refused", async () => {
  const other = gzipSync(tarOf([{ path: "app/keep", body: "evil" }]));
  const forged = ociMembers((blobs) => {
    const layer = [...blobs.keys()][2] ?? "";
    blobs.set(layer, other);
  });
  await expect(resolve(tarOf(forged))).rejects.toThrow(
    /layer "blobs\/sha256\/[0-9a-f]{64}", whose bytes are not those of its digest/,
  );
});

test("an archive that lacks a layer, or holds no image for this machine, says so", async () => {
  const lacking = ociMembers((blobs) => void blobs.delete([...blobs.keys()][3] ?? ""));
  await expect(resolve(tarOf(lacking))).rejects.toThrow(/lacks its member "blobs\/sha256\//);
  const foreign = ociMembers().map((member) =>
    member.path === "index.json"
      ? {
          ...member,
          body: JSON.stringify({
            manifests: [{ digest: `sha256:${"0".repeat(64)}`, platform: { os: "plan9", architecture: "mips" } }],
          }),
        }
      : member,
  );
  await expect(resolve(tarOf(foreign))).rejects.toThrow(/holds no image for linux\//);
});
