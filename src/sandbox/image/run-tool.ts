/**
 * Runs one build tool to its end: what it says goes into a log that is kept, its last line to whoever waits, its output to
 * a reader. It gets an environment made from nothing but what such tools need, so no key of ours reaches an image. A
 * cancelled or failed build takes the tool's whole process group with it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, createWriteStream, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { finished } from "node:stream/promises";
import { Failure } from "../../core/errors.ts";

export interface ToolRun {
  readonly program: string;
  readonly args: readonly string[];
  /** All it says on stderr is added to this file. */
  readonly log: string;
  readonly envVars?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly onLine?: (line: string) => void;
  /** Gets stdout; without it stdout goes to the log. */
  readonly read?: (stdout: AsyncIterable<Uint8Array>) => Promise<void>;
}

export interface ToolEnd {
  readonly exitCode: number;
  /** What it said, at most its last 256 KiB. */
  readonly said: string;
}

const SAID_BYTES_MAX = 256 << 10;
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Where engines keep images and sockets, and how the network is reached. */
const PASSED_ON =
  /^(HOME|TMPDIR|XDG_[A-Z_]+|DOCKER_[A-Z_]+|CONTAINERS?_[A-Z_]+|STORAGE_DRIVER|BUILDAH_[A-Z_]+|SSL_CERT_(FILE|DIR)|(https?|no|ftp|all)_proxy)$/i;

export function toolEnvVars(): Record<string, string> {
  const passed = Object.entries(process.env).filter(([name, value]) => PASSED_ON.test(name) && value !== undefined);
  return {
    PATH: process.env["PATH"] ?? SYSTEM_PATH,
    LANG: "C.UTF-8",
    ...(Object.fromEntries(passed) as Record<string, string>),
  };
}

/** Full path of a program on PATH or in the system's folders; null when there is none. */
export function findProgram(name: string): string | null {
  for (const folder of `${process.env["PATH"] ?? ""}${delimiter}${SYSTEM_PATH}`.split(delimiter)) {
    if (folder === "") continue;
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {}
  }
  return null;
}

/** Resolves when the tool has ended, however; throws `cancelled`, and what `read` throws, after the tool is gone. */
export async function runTool(run: ToolRun): Promise<ToolEnd> {
  run.signal?.throwIfAborted();
  const child = spawn(run.program, run.args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...toolEnvVars(), ...run.envVars },
    detached: true,
  });
  const end = new Promise<number>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 255));
  });
  const stop = (): void => endGroup(child);
  run.signal?.addEventListener("abort", stop, { once: true });
  const said = collect(child, run);
  try {
    const reading = run.read?.(child.stdout) ?? Promise.resolve();
    reading.catch(stop);
    const [exitCode, outcome] = await Promise.all([end, Promise.allSettled([reading])]);
    const text = await said.done();
    if (run.signal?.aborted === true)
      throw new Failure("cancelled", "The build of the image was cancelled.", { cause: run.signal.reason });
    /* A tool that failed explains a stream that broke off, not the other way round. */
    if (outcome[0].status === "rejected" && exitCode === 0) throw outcome[0].reason;
    if (outcome[0].status === "rejected" && !/cut short|end mark/.test(String(outcome[0].reason)))
      throw outcome[0].reason;
    return { exitCode, said: text };
  } finally {
    run.signal?.removeEventListener("abort", stop);
    stop();
  }
}

function collect(child: ChildProcess, run: ToolRun): { done(): Promise<string> } {
  const log = createWriteStream(run.log, { flags: "a" });
  let text = "";
  const hear = (chunk: Buffer): void => {
    log.write(chunk);
    text = (text + chunk.toString("utf8")).slice(-SAID_BYTES_MAX);
    const line =
      text
        .trimEnd()
        .split(/[\r\n]/)
        .pop() ?? "";
    if (line !== "") run.onLine?.(line);
  };
  child.stderr?.on("data", hear);
  if (run.read === undefined) child.stdout?.on("data", hear);
  return {
    done: async () => {
      log.end();
      await finished(log);
      return text;
    },
  };
}

/** The group, not the process alone: a tool's children hold mounts and files. */
function endGroup(child: ChildProcess): void {
  if (child.pid === undefined || isGone(child)) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {}
}

function isGone(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** The last lines of a log that tell of an error, for a message; the log itself has the rest. */
export function lastWords(said: string, linesMax = 6): string {
  const lines = said.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  const errors = lines.filter((line) =>
    /^(E:|Err|error|fatal|dpkg: error|W: .*fail)|: not found|unable to/i.test(line.trim()),
  );
  return (errors.length > 0 ? errors : lines).slice(-linesMax).join("\n");
}

export function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
