/**
 * The file API of a sandbox over its agent. Names that are not valid UTF-8 keep their bytes, see `byte-names.ts`. Only
 * regular files and folders are ever read, carried or given other permission bits.
 */
import type { FileEntry, FileResult, FileStatus, SandboxFiles } from "../core/sandbox-files.ts";
import { bytesToName } from "./byte-names.ts";
import type { CommandContext } from "./command-context.ts";
import { JOB } from "./frames.ts";
import { sandboxUser } from "./run-command.ts";
import { downloadTree } from "./sandbox-files-download.ts";
import { type FileJob, isSandboxPath, persist, refused, runFileJob } from "./sandbox-files-job.ts";
import { readTree } from "./sandbox-files-read.ts";
import { uploadTree } from "./sandbox-files-upload.ts";
import { watchTree } from "./sandbox-files-watch.ts";

const LIST_BYTES_MAX = 64 << 20;
const STATUS_BYTES_MAX = 256;
const FOLDER_MODE = 0o755;
const DONE = { ok: true, value: null } as const;

/** The files of the sandbox whose commands `context` runs. */
export function sandboxFiles(context: CommandContext): SandboxFiles {
  /** The job's output, or why there is none. */
  const operation = async (job: FileJob): Promise<FileResult<Uint8Array>> => {
    const [path = ""] = job.argv;
    if (!isSandboxPath(path)) return refused("invalid_path", path);
    const { answer, result } = await persist(() => runFileJob(context, job));
    if (answer !== "done") return refused(answer, path);
    return result.stdoutBytesTruncated > 0 ? refused("too_large", path) : { ok: true, value: result.stdout };
  };
  const change = async (job: FileJob): Promise<FileResult<null>> => {
    const done = await operation(job);
    return done.ok ? DONE : done;
  };
  const stat = async (path: string): Promise<FileResult<FileStatus>> => {
    const done = await operation({ kind: JOB.stat, argv: [path], outputBytesMax: STATUS_BYTES_MAX });
    return done.ok ? { ok: true, value: parseStatus(done.value) } : done;
  };
  return {
    read: (path, { bytesMax }) =>
      operation({ kind: JOB.read, argv: [path, count(bytesMax)], outputBytesMax: bytesMax }),
    readRange: (path, { offset, bytes }) =>
      operation({ kind: JOB.readRange, argv: [path, count(offset), count(bytes)], outputBytesMax: bytes }),
    write: async ({ path, bytes, mode }, options) => {
      const { uid } = sandboxUser(options?.user, context);
      return change({ kind: JOB.write, uid, argv: [path, mode.toString(8)], input: bytes });
    },
    readTree: (path, limits) => readTree(context, path, limits),
    list: async (path, { recursive, entriesMax }) => {
      const argv = [path, recursive ? "1" : "0", count(entriesMax)];
      const done = await operation({ kind: JOB.list, argv, outputBytesMax: LIST_BYTES_MAX });
      return done.ok ? { ok: true, value: parseEntries(done.value) } : done;
    },
    stat,
    exists: async (path) => (await stat(path)).ok,
    mkdir: async (path, options) => {
      const { uid } = sandboxUser(options?.user, context);
      return change({ kind: JOB.mkdir, uid, argv: [path, (options?.mode ?? FOLDER_MODE).toString(8)] });
    },
    rename: async (from, to) => {
      if (!isSandboxPath(to)) return refused("invalid_path", to);
      return change({ kind: JOB.rename, argv: [from, to] });
    },
    remove: (path, options) => change({ kind: JOB.remove, argv: [path, options?.recursive === true ? "1" : "0"] }),
    chmod: (path, mode) => change({ kind: JOB.chmod, argv: [path, mode.toString(8)] }),
    upload: (hostFolder, path, options) => uploadTree(context, hostFolder, path, options),
    download: (path, hostFolder, limits) => downloadTree(context, path, hostFolder, limits),
    watch: (path, onEvent, signal) => watchTree(context, path, onEvent, signal),
  };
}

/** A bound as the agent reads it. */
function count(value: number): string {
  return String(Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(value))));
}

const KINDS: Readonly<Record<string, FileEntry["kind"]>> = { f: "file", d: "folder", l: "link", o: "other" };

function parseEntries(bytes: Uint8Array): FileEntry[] {
  const records = bytesToName(bytes).split("\0");
  records.pop();
  return records.map((record) => {
    const [kind = "", mode = "", size = ""] = record.split(" ", 3);
    const path = record.slice(kind.length + mode.length + size.length + 3);
    return { path, kind: KINDS[kind] ?? "other", bytes: Number(size), mode: Number.parseInt(mode, 8) };
  });
}

function parseStatus(bytes: Uint8Array): FileStatus {
  const [kind = "", mode = "", ...numbers] = bytesToName(bytes).split(" ");
  const [uid = 0, gid = 0, size = 0, seconds = 0, nanoseconds = 0] = numbers.map(Number);
  const modifiedMs = seconds * 1000 + Math.floor(nanoseconds / 1e6);
  return { kind: KINDS[kind] ?? "other", bytes: size, mode: Number.parseInt(mode, 8), uid, gid, modifiedMs };
}
