/**
 * Writes a tree below a host folder as its records come: everything made anew, no link followed, small files several at
 * a time, so that the wait for the disk is not paid file by file. It never holds more than a few small files.
 */
import type { FileHandle } from "node:fs/promises";
import type { TreeLimits, TreeReport } from "../core/sandbox-files.ts";
import { bytesToName } from "./byte-names.ts";
import type { HostFolder } from "./host-folder.ts";
import { TreeDecoder, type TreeEvent } from "./sandbox-files-records.ts";

const SLASH = 0x2f;
/** A folder its owner cannot list or write gets its bits last. */
const OWNER_BITS = 0o700;
/** A file up to this size is written in one go when it is whole. */
const SMALL_BYTES = 65_536;
const WRITES_MAX = 16;

/** The file whose content comes now. */
interface OpenFile {
  readonly name: Buffer;
  readonly mode: number;
  /** Content that has not been written. */
  held: Buffer[];
  heldBytes: number;
  /** Once it is no small file. */
  handle: FileHandle | null;
}

export class HostTreeWriter {
  readonly #root: HostFolder;
  readonly #limits: TreeLimits;
  readonly #decoder = new TreeDecoder();
  readonly #refused: string[] = [];
  /** Folders whose own bits would keep their owner from filling or moving them. */
  readonly #closed: { readonly path: Buffer; readonly mode: number }[] = [];
  /** The folder the last entry went into; the entries of one folder come together. */
  #folder: HostFolder;
  #folderPath = Buffer.alloc(0);
  #file: OpenFile | null = null;
  readonly #writes = new Set<Promise<void>>();
  #failure: { readonly cause: unknown } | null = null;
  #files = 0;
  #folders = 0;
  #bytes = 0;
  isTooLarge = false;
  isWhole = false;

  constructor(root: HostFolder, limits: TreeLimits) {
    this.#root = root;
    this.#folder = root;
    this.#limits = limits;
  }

  report(): TreeReport {
    return { files: this.#files, folders: this.#folders, bytes: this.#bytes, refused: this.#refused };
  }

  /** Throws a RangeError for what no agent sends. */
  decode(bytes: Uint8Array): Iterable<TreeEvent> {
    return this.#decoder.take(bytes);
  }

  /** Resolves when the next event may come; what the host refused may be thrown later, by the end at the latest. */
  async take(event: TreeEvent): Promise<void> {
    if (this.isTooLarge) return;
    if (event.kind === "content") await this.#content(event.bytes);
    else if (event.kind === "file-end") await this.#fileEnd();
    else if (event.kind === "end") this.isWhole = true;
    else await this.#entry(event.kind, event.path, event.mode);
  }

  async #entry(kind: "folder" | "file" | "refused", path: Buffer, mode: number): Promise<void> {
    const entries = this.#files + this.#folders + (kind === "refused" ? this.#refused.length : 0);
    if (entries >= this.#limits.entriesMax) {
      this.isTooLarge = true;
      return;
    }
    if (kind === "refused") {
      this.#refused.push(bytesToName(path));
      return;
    }
    const name = await this.#enter(path);
    const plainMode = mode & 0o777;
    /* Setuid and its kin are named and left out. */
    if (plainMode !== mode) this.#refused.push(bytesToName(path));
    if (kind === "file") {
      this.#file = { name, mode: plainMode, held: [], heldBytes: 0, handle: null };
      this.#files += 1;
      return;
    }
    await this.#folder.makeFolder(name);
    if ((mode & OWNER_BITS) === OWNER_BITS) await this.#folder.chmodFolder(name, plainMode);
    else this.#closed.push({ path, mode: plainMode });
    this.#folders += 1;
  }

  async #content(bytes: Buffer): Promise<void> {
    const file = this.#file;
    this.#bytes += bytes.length;
    if (this.#bytes > this.#limits.bytesMax) this.isTooLarge = true;
    if (this.isTooLarge || file === null) return;
    file.held.push(bytes);
    file.heldBytes += bytes.length;
    if (file.heldBytes <= SMALL_BYTES) return;
    file.handle ??= await this.#folder.createFile(file.name);
    for (const part of file.held) await writeAll(file.handle, part);
    file.held = [];
    file.heldBytes = 0;
  }

  async #fileEnd(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    const folder = this.#folder;
    const write: Promise<void> = writeFile(folder, file)
      .catch((cause: unknown) => {
        this.#failure ??= { cause };
      })
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
    if (file.handle !== null) await this.#settle();
    else if (this.#writes.size >= WRITES_MAX) await Promise.race(this.#writes);
    this.#throwFailure();
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#writes);
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.cause;
  }

  /** Makes the folder of `path` the current one, opening part by part, and gives the entry's name in it. */
  async #enter(path: Buffer): Promise<Buffer> {
    const slash = path.lastIndexOf(SLASH);
    const parent = path.subarray(0, Math.max(0, slash));
    if (!parent.equals(this.#folderPath)) {
      await this.#leave();
      this.#folder = await openBelow(this.#root, parent);
      this.#folderPath = Buffer.from(parent);
    }
    return path.subarray(slash + 1);
  }

  async #leave(): Promise<void> {
    await this.#settle();
    const left = this.#folder;
    this.#folder = this.#root;
    this.#folderPath = Buffer.alloc(0);
    if (left !== this.#root) await left.close();
  }

  /** Moves the top of the tree to its place, then gives the closed folders their bits, the deepest first. */
  async moveTo(target: HostFolder): Promise<void> {
    await this.#leave();
    this.#throwFailure();
    for (const { name } of await this.#root.entries()) await this.#root.move(name, target);
    for (const { path, mode } of this.#closed.toReversed()) {
      const slash = path.lastIndexOf(SLASH);
      const parent = await openBelow(target, path.subarray(0, Math.max(0, slash)));
      try {
        await parent.chmodFolder(path.subarray(slash + 1), mode);
      } finally {
        if (parent !== target) await parent.close();
      }
    }
  }

  /** Never throws; what was written stays. */
  async close(): Promise<void> {
    await this.#file?.handle?.close();
    this.#file = null;
    await this.#leave();
  }
}

async function writeFile(folder: HostFolder, file: OpenFile): Promise<void> {
  const handle = file.handle ?? (await folder.createFile(file.name));
  try {
    for (const part of file.held) await writeAll(handle, part);
    await handle.chmod(file.mode);
  } finally {
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at, bytes.length - at, null)).bytesWritten;
}

/** The folder at a relative path; `top` itself for an empty one, else a folder the caller closes. */
async function openBelow(top: HostFolder, path: Buffer): Promise<HostFolder> {
  let folder = top;
  for (let at = 0; at < path.length; ) {
    const slash = path.indexOf(SLASH, at);
    const end = slash < 0 ? path.length : slash;
    try {
      const next = await folder.openFolder(path.subarray(at, end));
      if (folder !== top) await folder.close();
      folder = next;
    } catch (error) {
      if (folder !== top) await folder.close();
      throw error;
    }
    at = end + 1;
  }
  return folder;
}
