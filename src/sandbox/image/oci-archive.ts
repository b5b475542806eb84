/**
 * Image archives of container engines, read without an engine: the OCI layout and Docker's own format, both a tar file
 * with the layers as members. The layers are laid one over another into one tree, whiteouts resolved, each checked
 * against its digest where the archive gives one.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { z } from "zod";
import { ArchiveError, decompressed } from "./byte-reader.ts";
import type { BuildContext, BuiltImage } from "./image-source.ts";
import { readTar } from "./tar-read.ts";

const JSON_BYTES_MAX = 8 << 20;
const DESCRIPTOR = z.object({
  digest: z.string(),
  mediaType: z.string().optional(),
  platform: z.object({ os: z.string(), architecture: z.string() }).optional(),
});
const INDEX = z.object({ manifests: z.array(DESCRIPTOR) });
const MANIFEST = z.object({ config: DESCRIPTOR, layers: z.array(DESCRIPTOR) });
const DOCKER = z.array(z.object({ Config: z.string(), Layers: z.array(z.string()) }));
const CONFIG = z.object({
  config: z.object({ Env: z.array(z.string()).nullish(), WorkingDir: z.string().nullish() }).nullish(),
});

interface Place {
  readonly offset: number;
  readonly size: number;
}

interface Plan {
  readonly config: string;
  /** Members that are layers, lowest first. */
  readonly layers: readonly string[];
}

/** Members of an uncompressed tar file by name, found by reading headers alone. Throws ArchiveError. */
async function membersOf(file: string): Promise<ReadonlyMap<string, Place>> {
  const handle = await open(file);
  const places = new Map<string, Place>();
  const links = new Map<string, string>();
  try {
    const { size } = await handle.stat();
    let longName: string | null = null;
    for (let offset = 0; offset + 512 <= size; ) {
      const header = await exactly(handle, offset, 512);
      if (header.every((byte) => byte === 0)) break;
      const textAt = (at: number, length: number): string =>
        header
          .subarray(at, at + length)
          .toString("latin1")
          .replace(/\0.*$/s, "");
      const bytes = Number.parseInt(textAt(124, 12).trim(), 8);
      if (!Number.isSafeInteger(bytes)) throw new ArchiveError("has a header whose size is no number; it is damaged");
      const type = textAt(156, 1);
      if (type === "L" || type === "x") {
        const text = (await exactly(handle, offset + 512, Math.min(bytes, 1 << 16))).toString("latin1");
        longName = (type === "L" ? text.replace(/\0.*$/s, "") : /\d+ path=([^\n]+)\n/.exec(text)?.[1]) ?? null;
      } else {
        const name = (longName ?? textAt(0, 100)).replace(/^\.\//, "");
        longName = null;
        if (type === "" || type === "0") places.set(name, { offset: offset + 512, size: bytes });
        if (type === "1" || type === "2") links.set(name, textAt(157, 100).replace(/^(\.\.?\/)+/, ""));
      }
      offset += 512 + Math.ceil(bytes / 512) * 512;
    }
  } finally {
    await handle.close();
  }
  /* Docker's older archives name a layer that occurs twice by a link. */
  for (const [name, target] of links) {
    const place = places.get(target);
    if (place !== undefined) places.set(name, place);
  }
  return places;
}

async function exactly(handle: FileHandle, offset: number, count: number): Promise<Buffer> {
  const buffer = Buffer.alloc(count);
  const { bytesRead } = await handle.read(buffer, 0, count, offset);
  if (bytesRead < count) throw new ArchiveError("ends in the middle of a member; it was cut short");
  return buffer;
}

/** Whether a tar file is an engine's archive rather than a tree. */
export async function isImageArchive(file: string): Promise<boolean> {
  try {
    const members = await membersOf(file);
    return members.has("oci-layout") || (members.has("manifest.json") && !members.has("etc/passwd"));
  } catch {
    return false;
  }
}

/** Lays the one image of an archive into the tree. Throws ArchiveError. */
export async function layImageArchive(file: string, context: BuildContext): Promise<BuiltImage> {
  const members = await membersOf(file);
  const plan = members.has("oci-layout") ? await ociPlan(file, members) : await dockerPlan(file, members);
  const { config } = parseJson(CONFIG, await textOf(file, members, plan.config), plan.config);
  for (const [index, layer] of plan.layers.entries()) {
    context.onStep(`unpacking layer ${index + 1} of ${plan.layers.length}`);
    const place = placeOf(members, layer);
    const checked = digestChecked(
      createReadStream(file, { start: place.offset, end: place.offset + place.size - 1 }),
      layer,
    );
    await context.tree.lay(readTar(decompressed(place.size === 0 ? empty() : checked)));
  }
  const envVars = Object.fromEntries(
    (config?.Env ?? []).flatMap((pair): [string, string][] => {
      const at = pair.indexOf("=");
      return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : [];
    }),
  );
  const workdir = config?.WorkingDir ?? "";
  return { envVars, workdir: workdir === "" ? null : workdir, pins: null };
}

async function* empty(): AsyncGenerator<Uint8Array> {}

async function ociPlan(file: string, members: ReadonlyMap<string, Place>): Promise<Plan> {
  let name = "index.json";
  /* An index may name indexes; two levels are what engines write. */
  for (let depth = 0; depth < 4; depth += 1) {
    const text = await textOf(file, members, name);
    if (depth > 0) checkDigest(Buffer.from(text), name);
    const value: unknown = JSON.parse(text);
    const index = INDEX.safeParse(value);
    if (!index.success) {
      const manifest = parseJson(MANIFEST, text, name);
      return {
        config: blobName(manifest.config.digest),
        layers: manifest.layers.map(({ digest }) => blobName(digest)),
      };
    }
    name = blobName(chosen(index.data.manifests).digest);
  }
  throw new ArchiveError("has indexes that name indexes without an image");
}

/** This machine's own platform where an index offers several; the only one where it offers one. */
function chosen(manifests: readonly z.infer<typeof DESCRIPTOR>[]): z.infer<typeof DESCRIPTOR> {
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const fitting = manifests.filter(
    ({ platform }) => platform === undefined || (platform.os === "linux" && platform.architecture === architecture),
  );
  const [first, ...more] = fitting;
  if (first === undefined) throw new ArchiveError(`holds no image for linux/${architecture}`);
  if (more.length > 0) throw new ArchiveError(`holds ${fitting.length} images; save one of them alone`);
  return first;
}

async function dockerPlan(file: string, members: ReadonlyMap<string, Place>): Promise<Plan> {
  const images = parseJson(DOCKER, await textOf(file, members, "manifest.json"), "manifest.json");
  const [image, ...more] = images;
  if (image === undefined) throw new ArchiveError("holds no image");
  if (more.length > 0) throw new ArchiveError(`holds ${images.length} images; save one of them alone`);
  return { config: image.Config, layers: image.Layers };
}

function blobName(digest: string): string {
  const [kind = "", value = ""] = digest.split(":");
  if (kind !== "sha256" || !/^[0-9a-f]{64}$/.test(value))
    throw new ArchiveError(`names the digest "${digest}", which is no sha256`);
  return `blobs/sha256/${value}`;
}

function placeOf(members: ReadonlyMap<string, Place>, name: string): Place {
  const place = members.get(name);
  if (place === undefined) throw new ArchiveError(`lacks its member ${JSON.stringify(name)}`);
  return place;
}

async function textOf(file: string, members: ReadonlyMap<string, Place>, name: string): Promise<string> {
  const place = placeOf(members, name);
  if (place.size > JSON_BYTES_MAX)
    throw new ArchiveError(`has the member ${JSON.stringify(name)} of ${place.size} bytes, too many for a description`);
  const handle = await open(file);
  try {
    return (await exactly(handle, place.offset, place.size)).toString("utf8");
  } finally {
    await handle.close();
  }
}

function parseJson<T extends z.ZodType>(schema: T, text: string, name: string): z.infer<T> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new ArchiveError(`has the member ${JSON.stringify(name)}, which is not the description of an image`, {
      cause: error,
    });
  }
}

function checkDigest(bytes: Buffer, name: string): void {
  const expected = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(name)?.[1];
  if (expected !== undefined && createHash("sha256").update(bytes).digest("hex") !== expected)
    throw new ArchiveError(`has the member ${JSON.stringify(name)}, whose bytes are not those of its digest`);
}

/** Passes bytes on and compares their digest with the member's name at the end. */
async function* digestChecked(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const expected = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(name)?.[1];
  const hash = createHash("sha256");
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
  if (expected !== undefined && hash.digest("hex") !== expected)
    throw new ArchiveError(`has the layer ${JSON.stringify(name)}, whose bytes are not those of its digest`);
}
