/**
 * An image of a folder of this machine: its entries go through the same rules as an archive's members. Ids stay as they
 * are. No link is followed, and nothing of another file system below it is left out or taken in silence: what may not be
 * in an image is refused by name.
 */
import { createReadStream, lstatSync, readdirSync, readlinkSync, type Stats, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { Failure } from "../../core/errors.ts";
import { type ImageSource, PLAIN } from "./image-source.ts";
import type { ArchiveMember, MemberKind } from "./tar-read.ts";
import { hashTree } from "./tree-hash.ts";

export function folderSource(path: string): ImageSource {
  const folder = resolve(path);
  const reference = `folder:${folder}`;
  const check = (): void => {
    if (!isFolder(folder)) throw new Failure("image_unavailable", `Image "${reference}": there is no such folder.`);
    if (folder === "/")
      throw new Failure("image_unavailable", 'Image "folder:/": the machine\'s own root is no image; use "host".');
  };
  return {
    reference,
    inputs: async (signal) => {
      check();
      return (await hashTree(folder, null, signal)).hash;
    },
    build: async ({ tree, onStep }) => {
      check();
      onStep(`copying ${folder}`);
      await tree.lay(folderMembers(folder));
      return PLAIN;
    },
  };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The entries of a folder as members, folders before what is in them. */
export async function* folderMembers(folder: string): AsyncGenerator<ArchiveMember> {
  const seen = new Map<string, string>();
  yield memberOf(Buffer.from(folder), "./", lstatSync(join(folder, ".")), seen);
  yield* below(Buffer.from(folder), "", seen);
}

async function* below(folder: Buffer, prefix: string, seen: Map<string, string>): AsyncGenerator<ArchiveMember> {
  for (const name of readdirSync(folder, { encoding: "latin1" }).sort()) {
    const at = Buffer.concat([folder, Buffer.from(`/${name}`, "latin1")]);
    const path = `${prefix}${name}`;
    const info = lstatSync(at);
    yield memberOf(at, path, info, seen);
    if (info.isDirectory() && !(prefix === "" && ["dev", "proc", "sys"].includes(name)))
      yield* below(at, `${path}/`, seen);
  }
}

function memberOf(at: Buffer, path: string, info: Stats, seen: Map<string, string>): ArchiveMember {
  const key = `${info.dev}:${info.ino}`;
  const first = info.nlink > 1 && info.isFile() ? seen.get(key) : undefined;
  if (info.isFile() && first === undefined) seen.set(key, path);
  const kind = first === undefined ? kindOf(info) : "hardlink";
  return {
    path,
    kind,
    mode: info.mode & 0o7777,
    uid: info.uid,
    gid: info.gid,
    size: kind === "file" ? info.size : 0,
    modifiedAt: Math.floor(info.mtimeMs / 1_000),
    link: first ?? (info.isSymbolicLink() ? readlinkSync(at, { encoding: "latin1" }) : ""),
    body: kind === "file" ? createReadStream(at) : nothing(),
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function kindOf(info: Stats): MemberKind {
  if (info.isDirectory()) return "folder";
  if (info.isFile()) return "file";
  if (info.isSymbolicLink()) return "symlink";
  if (info.isFIFO()) return "fifo";
  return info.isSocket() ? "socket" : "device";
}
