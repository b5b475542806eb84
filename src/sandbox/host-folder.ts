/**
 * Folders of the host, held open so that what is done in them is done in that very folder, whatever is renamed or linked
 * meanwhile: on Linux a name is resolved below the open folder (`/proc/self/fd/N/NAME`), and no last link is followed.
 * Elsewhere the folder's path stands in for it.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
const SLASH = Buffer.from("/");

/** One entry of a host folder, by the bytes of its name. */
export interface HostEntry {
  readonly name: Buffer;
  readonly kind: "file" | "folder" | "other";
}

export class HostFolder {
  readonly #handle: FileHandle;
  readonly #base: Buffer;

  private constructor(handle: FileHandle, path: Buffer) {
    this.#handle = handle;
    this.#base =
      process.platform === "linux" ? Buffer.from(`/proc/self/fd/${handle.fd}/`) : Buffer.concat([path, SLASH]);
  }

  /** The caller's own folder; links on the way to it are followed. Throws the system's error. */
  static async open(path: string): Promise<HostFolder> {
    return new HostFolder(await open(path, O_RDONLY | O_DIRECTORY), Buffer.from(path));
  }

  #path(name: Buffer): Buffer {
    return Buffer.concat([this.#base, name]);
  }

  async openFolder(name: Buffer): Promise<HostFolder> {
    const path = this.#path(name);
    return new HostFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
  }

  /** What is in it, sorted by name. */
  async entries(): Promise<HostEntry[]> {
    const found = await readdir(this.#base, { encoding: "buffer", withFileTypes: true });
    const entries = found.map(
      (entry): HostEntry => ({
        name: entry.name,
        kind: entry.isFile() ? "file" : entry.isDirectory() ? "folder" : "other",
      }),
    );
    return entries.sort((one, other) => Buffer.compare(one.name, other.name));
  }

  /** For reading; never waits for a FIFO. */
  openFile(name: Buffer): Promise<FileHandle> {
    return open(this.#path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }

  /** Permission bits, the special ones included, of the entry itself. */
  async modeOf(name: Buffer): Promise<number> {
    return (await lstat(this.#path(name))).mode & 0o7777;
  }

  /** A file that was not there, for writing. */
  createFile(name: Buffer): Promise<FileHandle> {
    return open(this.#path(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  }

  /** A folder that was not there, for its owner alone. */
  async makeFolder(name: Buffer): Promise<void> {
    await mkdir(this.#path(name), { mode: 0o700 });
  }

  /** Sets the permission bits of a folder in it; no link is followed. */
  async chmodFolder(name: Buffer, mode: number): Promise<void> {
    const handle = await open(this.#path(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      await handle.chmod(mode);
    } finally {
      await handle.close();
    }
  }

  async move(name: Buffer, to: HostFolder): Promise<void> {
    await rename(this.#path(name), to.#path(name));
  }

  async removeEmpty(name: Buffer): Promise<void> {
    await rmdir(this.#path(name));
  }

  /** With everything below it; links are removed and not followed. */
  async removeAll(name: Buffer): Promise<void> {
    await rm(this.#path(name), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
