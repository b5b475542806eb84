/**
 * Runs one file operation as a job of the agent (`native/helper/files.c`): its content is the job's input or output, its
 * exit code is the answer. Large output passes by as it is taken, so that neither side ever holds a whole tree.
 */
import { Failure } from "../core/errors.ts";
import type { ExecOptions, ExecResult } from "../core/exec.ts";
import type { FileError, FileResult } from "../core/sandbox-files.ts";
import { bytesToName, nameToBytes } from "./byte-names.ts";
import type { CommandContext } from "./command-context.ts";
import { startJob } from "./run-job.ts";

/** One that moves bytes of a tmpfs and takes longer than this has met a fault. */
export const OPERATION_MS = 60_000;
/** For whole trees, whose speed is also that of the host's disk. */
export const TREE_MS = 600_000;
/** For what ends when its caller wants it to. */
export const ENDLESS_MS = 2_147_483_647;
const TRIES_MAX = 5;
const PATH_BYTES_MAX = 4_095;

/** By exit code; `enum answer` in `native/helper/files.h`. */
const ANSWERS = [
  "missing",
  "denied",
  "too_large",
  "not_regular",
  "is_directory",
  "not_directory",
  "refused_link",
  "no_space",
  "invalid_path",
  "unsupported",
] as const satisfies readonly (FileError | "unsupported")[];

/** `killed`: something in the sandbox ended the operation's process; `timed_out`: it was stopped, or had too much to do. */
export type FileAnswer = "done" | "killed" | "timed_out" | "cancelled" | (typeof ANSWERS)[number];

const REASONS: Readonly<Record<FileError, string>> = {
  missing: "does not exist",
  denied: "cannot be used: the system refused it, or processes of the sandbox prevented it",
  too_large: "is larger than allowed",
  not_regular: "is not a regular file",
  is_directory: "is a folder, or has one where a file would go",
  not_directory: "has a part that is not a folder",
  refused_link: "leads through a link or into /proc, which is refused",
  no_space: "does not fit: the sandbox's disk or file limit is reached",
  invalid_path: "is not a valid path: absolute, without NUL, at most 4095 bytes",
};

/** One operation as its agent is asked for it. */
export interface FileJob {
  /** One of `JOB`. */
  readonly kind: number;
  /** The first is the path. */
  readonly argv: readonly string[];
  readonly uid?: number;
  readonly input?: ExecOptions["input"];
  /** Of kept output; default 0. */
  readonly outputBytesMax?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Gets the output as it comes; none is kept then. More comes only within the agent's credit for what was taken. */
  readonly onBytes?: (bytes: Uint8Array) => void | Promise<void>;
}

/** How it ended, in one word and in full. */
export interface FileJobEnd {
  readonly answer: FileAnswer;
  readonly result: ExecResult;
}

/** Runs an operation once. Throws the sandbox's own failure. */
export async function runFileJob(context: CommandContext, job: FileJob): Promise<FileJobEnd> {
  const { kind, argv, uid = 0, input, timeoutMs = OPERATION_MS, onBytes } = job;
  const outputBytesMax = onBytes === undefined ? (job.outputBytesMax ?? 0) : Number.MAX_SAFE_INTEGER;
  const frame = {
    kind,
    uid,
    argv,
    killsAtLimit: false,
    killsDescendants: false,
    hasInput: input !== undefined,
    timeoutMs,
    idleOutputMs: 0,
    killGraceMs: 0,
    outputBytesMax,
    pipes: [],
    cwd: "/",
    envVars: {},
  };
  const options = {
    timeoutMs,
    outputBytesMax,
    ...(input === undefined ? {} : { input }),
    ...(job.signal === undefined ? {} : { signal: job.signal }),
    ...(onBytes === undefined ? {} : { onOutput: (_stream: unknown, bytes: Uint8Array) => onBytes(bytes) }),
  };
  const result = await startJob(context, frame, options, onBytes === undefined).result;
  if (result.exitCode === 0) return { answer: "done", result };
  if (result.verdict === "cancelled" || result.verdict === "timed_out") return { answer: result.verdict, result };
  if (result.exitCode === null) return { answer: result.verdict === "start_failed" ? "denied" : "killed", result };
  return { answer: ANSWERS[result.exitCode - 1] ?? "denied", result };
}

/**
 * Runs an operation, again when its process was killed: root of the sandbox may do that, and it is the sandbox's doing
 * and no loss of it. `run` must be able to begin anew.
 */
export async function persist<T extends { readonly answer: FileAnswer }>(run: () => Promise<T>): Promise<T> {
  let end = await run();
  for (let tries = 1; end.answer === "killed" && tries < TRIES_MAX; tries += 1) end = await run();
  return end;
}

/**
 * The output of an operation, which goes on as it is taken; the generator's return value is how it ended. Leaving it
 * early ends the operation.
 */
export async function* fileJobOutput(
  context: CommandContext,
  job: FileJob,
): AsyncGenerator<Uint8Array, FileJobEnd | undefined, undefined> {
  const stop = new AbortController();
  const queue: { readonly bytes: Uint8Array; readonly taken: () => void }[] = [];
  let isEnded = false;
  let wake = (): void => undefined;
  const onBytes = (bytes: Uint8Array): Promise<void> =>
    new Promise((taken) => {
      queue.push({ bytes, taken });
      wake();
    });
  const running = runFileJob(context, { ...job, onBytes, signal: stop.signal }).finally(() => {
    isEnded = true;
    wake();
  });
  running.catch(() => undefined);
  try {
    for (;;) {
      const next = queue.shift();
      if (next !== undefined) {
        yield next.bytes;
        next.taken();
      } else if (isEnded) {
        return await running;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    stop.abort();
  }
}

/** Whether the agent can be asked about a path at all. */
export function isSandboxPath(path: string): boolean {
  if (!path.startsWith("/") || path.includes("\0")) return false;
  const bytes = nameToBytes(path);
  return bytes.length <= PATH_BYTES_MAX && (path.isWellFormed() || bytesToName(bytes) === path);
}

/** What an agent sent in the place of a tree. */
export function malformedTree(context: CommandContext, why: string): Failure {
  return new Failure("sandbox_lost", `Sandbox ${context.client.id} was lost: what its agent sent is no tree (${why}).`);
}

/** The answer of an operation that did not end well, as a value. Throws `unsupported` for what the provider has not. */
export function refused(answer: FileAnswer, path: string): Extract<FileResult<never>, { readonly ok: false }> {
  if (answer === "unsupported") throw new Failure("unsupported", "This sandbox keeps no layer of its own to look at.");
  const error = answer in REASONS ? (answer as FileError) : "denied";
  return { ok: false, error, message: `${JSON.stringify(path)} ${REASONS[error]}.` };
}
