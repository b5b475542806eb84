/**
 * A folder of the host as a stream of records for the agent, which builds the tree whole before it is seen. Regular files
 * and folders only: a link, device, FIFO or socket of the host is named as refused and never opened.
 */
import type { FileHandle } from "node:fs/promises";
import { Failure } from "../core/errors.ts";
import type { FileResult, TreeLimits, TreeReport } from "../core/sandbox-files.ts";
import { bytesToName } from "./byte-names.ts";
import type { CommandContext } from "./command-context.ts";
import { JOB } from "./frames.ts";
import { HostFolder } from "./host-folder.ts";
import { sandboxUser } from "./run-command.ts";
import { isSandboxPath, persist, refused, runFileJob, TREE_MS } from "./sandbox-files-job.ts";
import { CHUNK_END, CHUNK_HEAD_BYTES, encodeEntry, isPathBelow, RECORD_END } from "./sandbox-files-records.ts";

/** With its chunk head it fills whole frames. */
const READ_BYTES = 4 * 65_536 - 4;
/** Pieces smaller than this are sent together. */
const GATHER_BYTES = 65_536;
const SLASH = Buffer.from("/");

/** Throws `request_invalid` when the host folder cannot be read. */
export async function uploadTree(
  context: CommandContext,
  hostFolder: string,
  path: string,
  options: TreeLimits & { readonly user?: string },
): Promise<FileResult<TreeReport>> {
  const { uid } = sandboxUser(options.user, context);
  if (!isSandboxPath(path)) return refused("invalid_path", path);
  const limits = [options.bytesMax, options.entriesMax].map((value) => String(Math.floor(value)));
  const { answer, source } = await persist(async () => {
    const source = new HostTree(hostFolder, options);
    const input = source.records();
    const end = await runFileJob(context, {
      kind: JOB.upload,
      uid,
      argv: [path, ...limits],
      input,
      timeoutMs: TREE_MS,
    });
    return { answer: end.answer, source };
  });
  if (source.failure !== null) throw source.failure;
  if (source.isTooLarge) return refused("too_large", path);
  return answer === "done" ? { ok: true, value: source.report() } : refused(answer, path);
}

/** One walk of a host folder. A stream that ends without its end record is an upload the agent undoes. */
class HostTree {
  readonly #folder: string;
  readonly #limits: TreeLimits;
  readonly #refused: string[] = [];
  #files = 0;
  #folders = 0;
  #bytes = 0;
  isTooLarge = false;
  failure: Failure | null = null;

  constructor(folder: string, limits: TreeLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  report(): TreeReport {
    return { files: this.#files, folders: this.#folders, bytes: this.#bytes, refused: this.#refused };
  }

  /** Never throws: what went wrong is told by `failure` and `isTooLarge`. */
  async *records(): AsyncGenerator<Uint8Array> {
    try {
      const top = await HostFolder.open(this.#folder);
      try {
        yield* gathered(this.#below(top, Buffer.alloc(0)));
        if (!this.isTooLarge) yield RECORD_END;
      } finally {
        await top.close();
      }
    } catch (cause) {
      const message = `The host folder "${this.#folder}" cannot be read: ${String(cause)}.`;
      this.failure = new Failure("request_invalid", message, { cause });
    }
  }

  async *#below(folder: HostFolder, prefix: Buffer): AsyncGenerator<Buffer> {
    for (const { name, kind } of await folder.entries()) {
      const path = prefix.length === 0 ? name : Buffer.concat([prefix, SLASH, name]);
      if (this.#files + this.#folders + this.#refused.length >= this.#limits.entriesMax) this.isTooLarge = true;
      if (this.isTooLarge) return;
      if (kind === "other" || !isPathBelow(path)) this.#refused.push(bytesToName(path));
      else if (kind === "file") yield* this.#file(folder, name, path);
      else yield* this.#subfolder(folder, name, path);
    }
  }

  async *#subfolder(folder: HostFolder, name: Buffer, path: Buffer): AsyncGenerator<Buffer> {
    yield encodeEntry("folder", path, this.#plainMode(await folder.modeOf(name), path));
    this.#folders += 1;
    const below = await folder.openFolder(name);
    try {
      yield* this.#below(below, path);
    } finally {
      await below.close();
    }
  }

  async *#file(folder: HostFolder, name: Buffer, path: Buffer): AsyncGenerator<Buffer> {
    const handle = await folder.openFile(name);
    try {
      const status = await handle.stat();
      if (!status.isFile()) {
        this.#refused.push(bytesToName(path));
        return;
      }
      if (status.size > this.#limits.bytesMax - this.#bytes) {
        this.isTooLarge = true;
        return;
      }
      yield encodeEntry("file", path, this.#plainMode(status.mode & 0o7777, path));
      yield* this.#content(handle, status.size);
      this.#files += 1;
    } finally {
      await handle.close();
    }
  }

  /** The bytes the file had when it was opened, or fewer if it shrinks. */
  async *#content(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      const wanted = Math.min(left, READ_BYTES);
      /* Fresh each time: what was yielded may still be on its way. */
      const chunk = Buffer.allocUnsafe(CHUNK_HEAD_BYTES + wanted);
      const { bytesRead } = await handle.read(chunk, CHUNK_HEAD_BYTES, wanted, null);
      if (bytesRead === 0) break;
      left -= bytesRead;
      this.#bytes += bytesRead;
      chunk.writeUInt32LE(bytesRead, 0);
      yield chunk.subarray(0, CHUNK_HEAD_BYTES + bytesRead);
    }
    yield CHUNK_END;
  }

  /** Setuid and its kin are named and left out. */
  #plainMode(mode: number, path: Buffer): number {
    if ((mode & 0o7000) !== 0) this.#refused.push(bytesToName(path));
    return mode & 0o777;
  }
}

/** Small pieces in few large ones, so that a tree of many small files is not a frame for each. */
async function* gathered(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Uint8Array> {
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    if (bytes > 0 && bytes + piece.length > 2 * GATHER_BYTES) {
      yield Buffer.concat(held);
      held = [];
      bytes = 0;
    }
    held.push(piece);
    bytes += piece.length;
    if (bytes < GATHER_BYTES) continue;
    yield held.length === 1 ? piece : Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(held);
}
