/** The files of a tree as data, in one stream of the agent: what a collector takes out of a sandbox without a host folder. */
import type { FileContent, FileResult, TreeLimits } from "../core/sandbox-files.ts";
import { bytesToName } from "./byte-names.ts";
import type { CommandContext } from "./command-context.ts";
import { JOB } from "./frames.ts";
import {
  type FileAnswer,
  fileJobOutput,
  isSandboxPath,
  malformedTree,
  persist,
  refused,
  TREE_MS,
} from "./sandbox-files-job.ts";
import { TreeDecoder, type TreeEvent } from "./sandbox-files-records.ts";

/** Keeps the contract of `SandboxFiles.readTree`. */
export async function readTree(
  context: CommandContext,
  path: string,
  limits: TreeLimits & { readonly onRefused?: (path: string) => void },
): Promise<FileResult<readonly FileContent[]>> {
  if (!isSandboxPath(path)) return refused("invalid_path", path);
  const { answer, files, left } = await persist(() => readOnce(context, path, limits));
  if (answer === "done") for (const one of left) limits.onRefused?.(one);
  return answer === "done" ? { ok: true, value: files } : refused(answer, path);
}

async function readOnce(
  context: CommandContext,
  path: string,
  limits: TreeLimits,
): Promise<{ readonly answer: FileAnswer; readonly files: readonly FileContent[]; readonly left: readonly string[] }> {
  const bounds = [limits.bytesMax, limits.entriesMax].map((value) => String(Math.max(0, Math.floor(value))));
  const output = fileJobOutput(context, { kind: JOB.download, argv: [path, ...bounds], timeoutMs: TREE_MS });
  const tree = new TreeReader(path.replace(/\/+$/, ""));
  let next = await output.next();
  for (; next.done !== true; next = await output.next()) {
    try {
      tree.take(next.value);
    } catch (error) {
      await output.return(undefined);
      throw error instanceof RangeError ? malformedTree(context, error.message) : error;
    }
    if (tree.bytes <= limits.bytesMax) continue;
    await output.return(undefined);
    return { answer: "too_large", files: [], left: [] };
  }
  const answer = next.value?.answer ?? "killed";
  if (answer === "done" && !tree.isWhole) throw malformedTree(context, "its tree has no end");
  return { answer, files: tree.files, left: tree.left };
}

class TreeReader {
  readonly files: FileContent[] = [];
  /** What is neither file nor folder. */
  readonly left: string[] = [];
  readonly #folder: string;
  readonly #decoder = new TreeDecoder();
  #file: { readonly path: string; readonly mode: number; readonly parts: Buffer[] } | null = null;
  bytes = 0;
  isWhole = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  take(bytes: Uint8Array): void {
    for (const event of this.#decoder.take(bytes)) this.#event(event);
  }

  #event(event: TreeEvent): void {
    const file = this.#file;
    if (event.kind === "file") {
      this.#file = { path: `${this.#folder}/${bytesToName(event.path)}`, mode: event.mode, parts: [] };
    } else if (event.kind === "content") {
      this.bytes += event.bytes.length;
      file?.parts.push(event.bytes);
    } else if (event.kind === "file-end" && file !== null) {
      this.files.push({ path: file.path, mode: file.mode, bytes: Buffer.concat(file.parts) });
      this.#file = null;
    } else if (event.kind === "refused") {
      this.left.push(`${this.#folder}/${bytesToName(event.path)}`);
    } else if (event.kind === "end") {
      this.isWhole = true;
    }
  }
}
