/**
 * The hash of a folder tree: names, modes, ids as a sandbox sees them, links and bytes, in one fixed order. Times are not
 * in it, so that two builds of the same content are one image. Works in slices, so that a long walk holds nobody up.
 */
import { createHash, type Hash } from "node:crypto";
import { closeSync, constants, lstatSync, openSync, readdirSync, readlinkSync, readSync, type Stats } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { ImageOwnership } from "./image-contract.ts";

export interface TreeSummary {
  readonly hash: string;
  /** Bytes of regular files; a file with several names counts once. */
  readonly bytes: number;
  /** Entries of every kind, the root not counted. */
  readonly files: number;
}

const SLICE_BYTES = 8 << 20;
const SLICE_ENTRIES = 200;

/** Throws what the file system throws. Never follows a link. */
export async function hashTree(
  root: string,
  ownership: ImageOwnership | null,
  signal?: AbortSignal,
): Promise<TreeSummary> {
  const walk = new Walk(ownership, signal);
  await walk.visit(Buffer.from(root), "", lstatSync(root));
  return { hash: walk.digest(), bytes: walk.bytes, files: walk.files };
}

class Walk {
  readonly #hash: Hash = createHash("sha256").update("sandlot tree 1\n");
  readonly #ownership: ImageOwnership | null;
  readonly #signal: AbortSignal | undefined;
  /** First name of each file that has several. */
  readonly #names = new Map<string, string>();
  readonly #buffer = Buffer.allocUnsafe(1 << 20);
  bytes = 0;
  files = 0;
  #sliceBytes = 0;
  #sliceEntries = 0;

  constructor(ownership: ImageOwnership | null, signal: AbortSignal | undefined) {
    this.#ownership = ownership;
    this.#signal = signal;
  }

  digest(): string {
    return this.#hash.digest("hex");
  }

  async visit(path: Buffer, name: string, info: Stats): Promise<void> {
    await this.#breathe();
    const first = info.nlink > 1 && !info.isDirectory() ? this.#firstName(info, name) : null;
    const body = first !== null ? `= ${JSON.stringify(first)}` : this.#describe(path, info);
    const ids = `${this.#seenId(info.uid)} ${this.#seenId(info.gid)}`;
    this.#hash.update(`${JSON.stringify(name)} ${(info.mode & 0o7777).toString(8)} ${ids} ${body}\n`);
    if (!info.isDirectory()) return;
    for (const entry of readdirSync(path, { encoding: "latin1" }).sort()) {
      const below = Buffer.concat([path, Buffer.from(`/${entry}`, "latin1")]);
      this.files += 1;
      await this.visit(below, `${name}/${entry}`, lstatSync(below));
    }
  }

  /** The name a file was met by before, or null when this is its first. */
  #firstName(info: Stats, name: string): string | null {
    const key = `${info.dev}:${info.ino}`;
    const known = this.#names.get(key);
    if (known === undefined) this.#names.set(key, name);
    return known ?? null;
  }

  #describe(path: Buffer, info: Stats): string {
    if (info.isDirectory()) return "d";
    if (info.isSymbolicLink()) return `l ${JSON.stringify(readlinkSync(path, { encoding: "latin1" }))}`;
    if (info.isFile()) return `f ${info.size} ${this.#fileHash(path)}`;
    /* An overlay's mark for a name that is gone. */
    if (info.isCharacterDevice() && info.rdev === 0) return "w";
    return `other ${info.mode} ${info.rdev}`;
  }

  #fileHash(path: Buffer): string {
    const hash = createHash("sha256");
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      for (;;) {
        const count = readSync(file, this.#buffer);
        if (count === 0) return hash.digest("hex");
        this.bytes += count;
        this.#sliceBytes += count;
        hash.update(this.#buffer.subarray(0, count));
      }
    } finally {
      closeSync(file);
    }
  }

  #seenId(id: number): number {
    if (this.#ownership === null) return id;
    return this.#ownership.isSingle ? (id === this.#ownership.base ? 0 : id) : id - this.#ownership.base;
  }

  async #breathe(): Promise<void> {
    this.#sliceEntries += 1;
    if (this.#sliceBytes < SLICE_BYTES && this.#sliceEntries < SLICE_ENTRIES) return;
    this.#sliceBytes = 0;
    this.#sliceEntries = 0;
    await setImmediate();
    this.#signal?.throwIfAborted();
  }
}
