/**
 * One layer on top of an image, as a folder an overlay can be mounted from. What the layer takes away becomes the
 * overlay's own mark, a character device 0/0 under the name; a folder it empties gets one for each name below.
 */
import { execFile } from "node:child_process";
import { lchownSync, linkSync, lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { decompressed } from "./byte-reader.ts";
import type { ImageOwnership } from "./image-contract.ts";
import { readTar } from "./tar-read.ts";
import { Unpacker } from "./unpack.ts";

const run = promisify(execFile);

interface LayerOptions {
  readonly root: string;
  readonly workFolder: string;
  readonly ownership: ImageOwnership;
  /** Folders of the layers below, top first. */
  readonly below: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Lays an OCI layer into `root`. Throws ArchiveError naming the member. */
export async function layLayer(layer: AsyncIterable<Uint8Array>, options: LayerOptions): Promise<void> {
  const { root, ownership, below, signal } = options;
  const gone: { readonly kind: "name" | "all"; readonly path: string }[] = [];
  const tree = new Unpacker(root, {
    ownership,
    signal,
    onWhiteout: (kind, path) => gone.push({ kind, path }),
    folderBelow: (path) => findBelow(below, path),
  });
  await tree.lay(readTar(decompressed(layer)));
  const names = gone.flatMap(({ kind, path }) => (kind === "name" ? [path] : namesBelow(below, path)));
  const marks = [...new Set(names)].filter((name) => isHere(root, name) === false && findAny(below, name) !== null);
  if (marks.length > 0) await mark(marks, options, tree);
  tree.finish();
}

/** One mark is made and linked under every name, as making devices takes a program. */
async function mark(
  names: readonly string[],
  { root, workFolder, ownership }: LayerOptions,
  tree: Unpacker,
): Promise<void> {
  const first = join(workFolder, "mark");
  await run("mknod", ["-m", "0", first, "c", "0", "0"]);
  lchownSync(first, ownership.base, ownership.base);
  for (const name of names) {
    tree.enterParents(name);
    linkSync(first, Buffer.from(`${Buffer.from(root).toString("latin1")}/${name}`, "latin1"));
  }
}

function at(folder: string, path: string): Buffer {
  return Buffer.from(`${Buffer.from(folder).toString("latin1")}/${path}`, "latin1");
}

function isHere(root: string, path: string): boolean {
  return lstatSync(at(root, path), { throwIfNoEntry: false }) !== undefined;
}

/** The folder of that path as the layers show it, or null. */
function findBelow(below: readonly string[], path: string): Stats | null {
  const found = findAny(below, path);
  return found?.isDirectory() === true ? found : null;
}

/** What the layers show under a path: the topmost wins, and a mark or a file above hides what lies lower. */
function findAny(below: readonly string[], path: string): Stats | null {
  const parts = path.split("/");
  for (const folder of below) {
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const info = lstatSync(at(folder, parts.slice(0, depth).join("/")), { throwIfNoEntry: false });
      if (info === undefined) break;
      if (info.isCharacterDevice()) return null;
      if (depth === parts.length) return info;
      if (!info.isDirectory()) return null;
    }
  }
  return null;
}

function namesBelow(below: readonly string[], path: string): readonly string[] {
  const names = new Set<string>();
  for (const folder of below) {
    const info = lstatSync(at(folder, path), { throwIfNoEntry: false });
    if (info?.isDirectory() !== true) continue;
    for (const name of readdirSync(at(folder, path), { encoding: "latin1" }))
      names.add(path === "" ? name : `${path}/${name}`);
  }
  return [...names];
}
