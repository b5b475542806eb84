/**
 * A tree of a sandbox into a folder of the host. The host takes regular files and folders only, makes each of them anew
 * and follows no link; they are built in a folder of their own and moved to their place when all are there.
 */
import type { FileHandle } from "node:fs/promises";
import { Failure } from "../core/errors.ts";
import type { FileResult, TreeLimits, TreeReport } from "../core/sandbox-files.ts";
import { bytesToName } from "./byte-names.ts";
import { JOB } from "./frames.ts";
import { HostFolder } from "./host-folder.ts";
import type { CommandContext } from "./run-command.ts";
import { type FileAnswer, fileJobOutput, isSandboxPath, persist, refused, TREE_MS } from "./sandbox-files-job.ts";
import { TreeDecoder, type TreeEvent } from "./sandbox-files-records.ts";

const SLASH = 0x2f;
/** A folder its owner cannot list or write gets its bits last. */
const OWNER_BITS = 0o700;

/**
 * Throws `request_invalid` when the host folder is not an empty folder or cannot be written, `disk_full` when the host
 * has no room.
 */
export async function downloadTree(
  context: CommandContext,
  path: string,
  hostFolder: string,
  limits: TreeLimits,
): Promise<FileResult<TreeReport>> {
  if (!isSandboxPath(path)) return refused("invalid_path", path);
  const target = await hostWork(hostFolder, () => HostFolder.open(hostFolder));
  try {
    if ((await target.entries()).length > 0)
      throw new Failure("request_invalid", `The host folder "${hostFolder}" is not empty; download into an empty one.`);
    const { answer, report } = await persist(() => downloadOnce(context, path, { target, hostFolder, limits }));
    return answer === "done" ? { ok: true, value: report } : refused(answer, path);
  } finally {
    await target.close();
  }
}

interface Destination {
  readonly target: HostFolder;
  readonly hostFolder: string;
  readonly limits: TreeLimits;
}

async function downloadOnce(
  context: CommandContext,
  path: string,
  { target, hostFolder, limits }: Destination,
): Promise<{ readonly answer: FileAnswer; readonly report: TreeReport }> {
  const building = Buffer.from(`.sandlot-${context.runtime.id()}`);
  await hostWork(hostFolder, () => target.makeFolder(building));
  const root = await target.openFolder(building);
  const tree = new HostTreeWriter(root, limits);
  try {
    const argv = [path, ...[limits.bytesMax, limits.entriesMax].map((value) => String(Math.floor(value)))];
    const output = fileJobOutput(context, { kind: JOB.download, argv, timeoutMs: TREE_MS });
    let next = await output.next();
    for (; next.done !== true; next = await output.next()) {
      const bytes = next.value;
      await hostWork(hostFolder, () => takeBytes(context, tree, bytes));
      if (!tree.isTooLarge) continue;
      await output.return(undefined);
      return { answer: "too_large", report: tree.report() };
    }
    const answer = next.value?.answer ?? "killed";
    if (answer === "done" && !tree.isWhole) throw malformed(context, "its tree has no end");
    if (answer === "done") await hostWork(hostFolder, () => tree.moveTo(target));
    return { answer, report: tree.report() };
  } finally {
    await tree.close();
    await root.close();
    await target.removeAll(building);
  }
}

async function takeBytes(context: CommandContext, tree: HostTreeWriter, bytes: Uint8Array): Promise<void> {
  try {
    for (const event of tree.decode(bytes)) await tree.take(event);
  } catch (error) {
    throw error instanceof RangeError ? malformed(context, error.message) : error;
  }
}

function malformed(context: CommandContext, why: string): Failure {
  return new Failure("sandbox_lost", `Sandbox ${context.client.id} was lost: what its agent sent is no tree (${why}).`);
}

/** Names what the host's own file system refused. */
async function hostWork<T>(hostFolder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const isFull = cause instanceof Error && "code" in cause && (cause.code === "ENOSPC" || cause.code === "EDQUOT");
    const message = `The host folder "${hostFolder}" cannot take the files: ${String(cause)}.`;
    throw new Failure(isFull ? "disk_full" : "request_invalid", message, { cause });
  }
}

/** Writes one tree below a host folder as its records come. */
class HostTreeWriter {
  readonly #root: HostFolder;
  readonly #limits: TreeLimits;
  readonly #decoder = new TreeDecoder();
  readonly #refused: string[] = [];
  /** Folders whose own bits would keep their owner from filling or moving them. */
  readonly #closed: { readonly path: Buffer; readonly mode: number }[] = [];
  /** The folder the last entry went into; the entries of one folder come together. */
  #folder: HostFolder;
  #folderPath = Buffer.alloc(0);
  #file: FileHandle | null = null;
  #fileMode = 0;
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

  decode(bytes: Uint8Array): Iterable<TreeEvent> {
    return this.#decoder.take(bytes);
  }

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
    if (kind === "file") {
      this.#file = await this.#folder.createFile(name);
      this.#fileMode = mode;
      this.#files += 1;
      return;
    }
    await this.#folder.makeFolder(name);
    if ((mode & OWNER_BITS) === OWNER_BITS) await this.#folder.chmodFolder(name, mode);
    else this.#closed.push({ path, mode });
    this.#folders += 1;
  }

  async #content(bytes: Buffer): Promise<void> {
    this.#bytes += bytes.length;
    if (this.#bytes > this.#limits.bytesMax) {
      this.isTooLarge = true;
      return;
    }
    for (let at = 0; at < bytes.length; )
      at += (await this.#file?.write(bytes, at, bytes.length - at, null))?.bytesWritten ?? bytes.length;
  }

  async #fileEnd(): Promise<void> {
    await this.#file?.chmod(this.#fileMode);
    await this.#file?.close();
    this.#file = null;
  }

  /** Makes the folder of `path` the current one, opening part by part, and gives the entry's name in it. */
  async #enter(path: Buffer): Promise<Buffer> {
    const slash = path.lastIndexOf(SLASH);
    const parent = path.subarray(0, Math.max(0, slash));
    if (!parent.equals(this.#folderPath)) {
      await this.#leave();
      const opened = await openBelow(this.#root, parent);
      this.#folder = opened;
      this.#folderPath = Buffer.from(parent);
    }
    return path.subarray(slash + 1);
  }

  async #leave(): Promise<void> {
    if (this.#folder !== this.#root) await this.#folder.close();
    this.#folder = this.#root;
    this.#folderPath = Buffer.alloc(0);
  }

  /** Moves the top of the tree to its place, then gives the closed folders their bits, the deepest first. */
  async moveTo(target: HostFolder): Promise<void> {
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

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
    await this.#leave();
  }
}

/** The folder at a relative path; `top` itself for an empty one, else a folder the caller closes. */
async function openBelow(top: HostFolder, path: Buffer): Promise<HostFolder> {
  let folder = top;
  for (let at = 0; at < path.length; ) {
    const slash = path.indexOf(SLASH, at);
    const end = slash < 0 ? path.length : slash;
    const next = await folder.openFolder(path.subarray(at, end));
    if (folder !== top) await folder.close();
    folder = next;
    at = end + 1;
  }
  return folder;
}
