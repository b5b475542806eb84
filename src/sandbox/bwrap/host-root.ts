/**
 * What a sandbox on the `host` image starts with: the files of the generated skeleton, which its agent writes into the
 * sandbox's own size-capped tmpfs, and the machine's system folders, which are bound read-only over it.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "../../core/runtime.ts";
import { buildHostImage } from "../host-image.ts";
import type { UserIds } from "../user-ids.ts";

export interface RootEntry {
  /** Absolute, in the sandbox. */
  readonly path: string;
  readonly mode: number;
  /** Of the sandbox. */
  readonly uid: number;
  readonly kind: "folder" | "file" | "link";
  /** Content of a file, target of a link. */
  readonly data: Buffer;
}

export interface HostRoot {
  readonly hash: string;
  readonly skeleton: readonly RootEntry[];
  /** Options of bwrap for the system folders: they must be there before the first program starts. */
  readonly systemFolders: readonly string[];
}

const SYSTEM = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/** Made by bwrap itself. */
const MADE_BEFORE = ["dev", "proc", "sys", ...SYSTEM];
const HOMES: Readonly<Record<string, number>> = { agent: 1000, verifier: 1001, subject: 1002 };

export function hostRoot(runtime: Runtime, imageFolder?: string): HostRoot {
  /* Owned by whoever runs this, so that it can be read; the agent gives each file to its owner. */
  const ids: UserIds = { kind: "self", base: process.geteuid?.() ?? 0 };
  const { folder, hash } = buildHostImage(runtime, imageFolder, undefined, ids);
  const skeleton: RootEntry[] = [];
  for (const name of readdirSync(folder).sort()) if (!MADE_BEFORE.includes(name)) collect(folder, `/${name}`, skeleton);
  return { hash, skeleton, systemFolders: SYSTEM.flatMap((name) => systemFolder(name)) };
}

function collect(root: string, path: string, to: RootEntry[]): void {
  const info = lstatSync(join(root, path));
  const entry = { path, mode: info.mode & 0o7777, uid: ownerOf(path) };
  if (info.isSymbolicLink()) {
    to.push({ ...entry, kind: "link", data: readlinkSync(join(root, path), { encoding: "buffer" }) });
  } else if (info.isFile()) {
    to.push({ ...entry, kind: "file", data: readFileSync(join(root, path)) });
  } else {
    to.push({ ...entry, kind: "folder", data: Buffer.alloc(0) });
    for (const name of readdirSync(join(root, path)).sort()) collect(root, join(path, name), to);
  }
}

function ownerOf(path: string): number {
  const [, top, name = "", ...below] = path.split("/");
  return top === "home" && below.length === 0 ? (HOMES[name] ?? 0) : 0;
}

/** Links on merged-usr hosts, else folders of their own. */
function systemFolder(name: string): string[] {
  const path = `/${name}`;
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (info?.isSymbolicLink()) return ["--symlink", readlinkSync(path), path];
  return info?.isDirectory() ? ["--ro-bind", path, path] : [];
}
