/** The file API of a sandbox: each operation is a job of the agent; its content is the job's input or output. */
import type { ExecOptions, ExecResult } from "../core/exec.ts";
import type { FileEntry, FileError, FileResult, SandboxFiles } from "../core/sandbox-files.ts";
import { JOB } from "./frames.ts";
import { type CommandContext, sandboxUser, startJob } from "./run-command.ts";

/** An operation moves bytes of a tmpfs; one that takes longer than this has met a fault. */
const OPERATION_MS = 60_000;
const TRIES_MAX = 5;
const LIST_BYTES_MAX = 64 << 20;
const PATH_BYTES_MAX = 4_095;

/** By exit code; see `enum answer` in `native/helper/files.c`. */
const ERRORS: readonly FileError[] = [
  "missing",
  "denied",
  "too_large",
  "not_regular",
  "is_directory",
  "not_directory",
  "refused_link",
  "no_space",
  "invalid_path",
];

const REASONS: Readonly<Record<FileError, string>> = {
  missing: "does not exist",
  denied: "cannot be used: the system refused it, or processes of the sandbox prevented it",
  too_large: "is larger than allowed",
  not_regular: "is not a regular file",
  is_directory: "is a folder",
  not_directory: "has a part that is not a folder",
  refused_link: "leads through a link or into /proc, which is refused",
  no_space: "does not fit: the sandbox's disk or file limit is reached",
  invalid_path: "is not a valid path: absolute, without NUL, at most 4095 bytes",
};

export function sandboxFiles(context: CommandContext): SandboxFiles {
  const operation = async (
    kind: number,
    uid: number,
    argv: readonly string[],
    options: Pick<ExecOptions, "outputBytesMax" | "input">,
  ): Promise<FileResult<ExecResult>> => {
    const path = argv[0] ?? "";
    if (!path.startsWith("/") || path.includes("\0") || Buffer.byteLength(path) > PATH_BYTES_MAX)
      return refused("invalid_path", path);
    const frame = {
      kind,
      uid,
      argv,
      killsAtLimit: false,
      killsDescendants: false,
      hasInput: options.input !== undefined,
      timeoutMs: OPERATION_MS,
      idleOutputMs: 0,
      killGraceMs: 0,
      outputBytesMax: options.outputBytesMax,
      pipes: [],
      cwd: "/",
      envVars: {},
    };
    let result = await startJob(context, frame, { timeoutMs: OPERATION_MS, ...options }).result;
    /* Root of the sandbox may kill or stop the operation's process; that is the sandbox's doing and no loss of it. */
    for (let tries = 1; result.signal !== null && tries < TRIES_MAX; tries += 1)
      result = await startJob(context, frame, { timeoutMs: OPERATION_MS, ...options }).result;
    if (result.exitCode === 0) return { ok: true, value: result };
    const error = result.exitCode === null ? undefined : ERRORS[result.exitCode - 1];
    return refused(error ?? "denied", path);
  };
  return {
    read: async (path, { bytesMax }) => {
      const done = await operation(JOB.read, 0, [path, String(bytesMax)], { outputBytesMax: bytesMax });
      return done.ok ? { ok: true, value: done.value.stdout } : done;
    },
    write: async ({ path, bytes, mode }, options) => {
      const { uid } = sandboxUser(options?.user);
      const done = await operation(JOB.write, uid, [path, mode.toString(8)], { outputBytesMax: 0, input: bytes });
      return done.ok ? { ok: true, value: null } : done;
    },
    list: async (path, { recursive, entriesMax }) => {
      const argv = [path, recursive ? "1" : "0", String(entriesMax)];
      const done = await operation(JOB.list, 0, argv, { outputBytesMax: LIST_BYTES_MAX });
      if (!done.ok) return done;
      if (done.value.stdoutBytesTruncated > 0) return refused("too_large", path);
      return { ok: true, value: parseEntries(done.value.stdout) };
    },
  };
}

function refused(
  error: FileError,
  path: string,
): { readonly ok: false; readonly error: FileError; readonly message: string } {
  return { ok: false, error, message: `${JSON.stringify(path)} ${REASONS[error]}.` };
}

const KINDS: Readonly<Record<string, FileEntry["kind"]>> = { f: "file", d: "folder", l: "link", o: "other" };

function parseEntries(bytes: Uint8Array): FileEntry[] {
  const records = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8").split("\0");
  records.pop();
  return records.map((record) => {
    const [kind = "", mode = "", size = ""] = record.split(" ", 3);
    const path = record.slice(kind.length + mode.length + size.length + 3);
    return { path, kind: KINDS[kind] ?? "other", bytes: Number(size), mode: Number.parseInt(mode, 8) };
  });
}
