/**
 * A tree of a sandbox into a folder of the host. The host takes regular files and folders only, makes each of them anew
 * and follows no link; they are built in a folder of their own and moved to their place when all are there.
 */
import { Failure } from "../core/errors.ts";
import type { FileResult, TreeLimits, TreeReport } from "../core/sandbox-files.ts";
import type { CommandContext } from "./command-context.ts";
import { JOB } from "./frames.ts";
import { HostFolder } from "./host-folder.ts";
import { HostTreeWriter } from "./host-tree-writer.ts";
import {
  type FileAnswer,
  fileJobOutput,
  isSandboxPath,
  malformedTree,
  persist,
  refused,
  TREE_MS,
} from "./sandbox-files-job.ts";

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
    if (answer === "done" && !tree.isWhole) throw malformedTree(context, "its tree has no end");
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
    throw error instanceof RangeError ? malformedTree(context, error.message) : error;
  }
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
