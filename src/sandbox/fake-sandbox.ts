/**
 * Sandboxes that exist only in memory, for tests of what stands above them and for the conformance suite's own test:
 * files in a map, commands answered by a given function, faults planted on purpose. Product code, not a mock.
 */
import { Failure } from "../core/errors.ts";
import type { ExecOptions, ExecResult, ShellResult } from "../core/exec.ts";
import type { Sandbox, SandboxInfo, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import type { FileEntry, FileResult, SandboxFiles } from "../core/sandbox-files.ts";
import type { SandboxPool, SandboxPoolStats } from "../core/sandbox-pool.ts";
import { startFailed } from "./run-command.ts";

/** What a scripted command answers; what is absent is an exit with code 0 and no output. */
export interface FakeAnswer {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Any field of the result, such as `verdict: "timed_out"`. */
  readonly result?: Partial<ExecResult>;
}

/** The in-memory files of one fake sandbox, by absolute path. */
export type FakeFiles = Map<string, { bytes: Uint8Array; mode: number }>;

export type FakeCommand = (
  command: string,
  context: { readonly files: FakeFiles; readonly options: ExecOptions; readonly request: SandboxRequest },
) => FakeAnswer | Promise<FakeAnswer>;

export interface FakeSandboxOptions {
  /** Answers each command; the words of an array are joined by spaces. Absent: every command exits with 0. */
  readonly onCommand?: FakeCommand;
  /** Planted fault: each sandbox is lost after this many commands. */
  readonly loseAfter?: number;
  /** Planted fault: the first so many creations fail with `sandbox_unavailable`. */
  readonly createFailures?: number;
}

export interface FakeSandboxPool extends SandboxPool {
  /** Sandboxes lent and not yet destroyed. */
  readonly lent: number;
}

const text = new TextEncoder();

function toResult(answer: FakeAnswer, options: ExecOptions): ExecResult {
  const cut = (output: string | undefined): { bytes: Uint8Array; truncated: number } => {
    const bytes = text.encode(output ?? "");
    return {
      bytes: bytes.subarray(0, options.outputBytesMax),
      truncated: Math.max(0, bytes.length - options.outputBytesMax),
    };
  };
  const stdout = cut(answer.stdout);
  const stderr = cut(answer.stderr);
  return {
    ...startFailed(null),
    verdict: "exited",
    exitCode: answer.exitCode ?? 0,
    stdout: stdout.bytes,
    stderr: stderr.bytes,
    stdoutBytesTruncated: stdout.truncated,
    stderrBytesTruncated: stderr.truncated,
    ...answer.result,
  };
}

function fakeFiles(files: FakeFiles, check: () => void): SandboxFiles {
  const missing = (path: string): FileResult<never> => ({
    ok: false,
    error: "missing",
    message: `"${path}" does not exist.`,
  });
  return {
    read: async (path, { bytesMax }) => {
      check();
      const found = files.get(path);
      if (found === undefined) return missing(path);
      if (found.bytes.length > bytesMax)
        return { ok: false, error: "too_large", message: `"${path}" is larger than allowed.` };
      return { ok: true, value: found.bytes };
    },
    write: async ({ path, bytes, mode }) => {
      check();
      if (!path.startsWith("/")) return { ok: false, error: "invalid_path", message: `"${path}" is not absolute.` };
      files.set(path, { bytes: Uint8Array.from(bytes), mode });
      return { ok: true, value: null };
    },
    list: async (path, { recursive, entriesMax }) => {
      check();
      const entries = below(files, path, recursive);
      if (entries.length === 0 && path !== "/") return missing(path);
      if (entries.length > entriesMax)
        return { ok: false, error: "too_large", message: `"${path}" holds too many entries.` };
      return { ok: true, value: entries };
    },
  };
}

function below(files: FakeFiles, folder: string, recursive: boolean): FileEntry[] {
  const prefix = folder.endsWith("/") ? folder : `${folder}/`;
  const entries = new Map<string, FileEntry>();
  for (const [path, { bytes, mode }] of files) {
    if (!path.startsWith(prefix)) continue;
    const parts = path.slice(prefix.length).split("/");
    for (let depth = 1; depth < parts.length; depth += 1) {
      const name = parts.slice(0, depth).join("/");
      entries.set(name, { path: name, kind: "folder", bytes: 0, mode: 0o755 });
    }
    const name = parts.join("/");
    entries.set(name, { path: name, kind: "file", bytes: bytes.length, mode });
  }
  const all = [...entries.values()].filter((entry) => recursive || !entry.path.includes("/"));
  return all.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function fakeSandbox(id: string, request: SandboxRequest, options: FakeSandboxOptions, onDestroy: () => void): Sandbox {
  const files: FakeFiles = new Map();
  let commands = 0;
  let failure: Failure | null = null;
  let isFrozen = false;
  let isDestroyed = false;
  const check = (): void => {
    if (failure !== null) throw failure;
  };
  const exec = async (command: string | readonly string[], execOptions: ExecOptions): Promise<ExecResult> => {
    check();
    if (isFrozen) throw new Failure("sandbox_busy", `Sandbox ${id} is frozen; only its files can be read.`);
    if (commands === options.loseAfter) failure = new Failure("sandbox_lost", `Sandbox ${id} was lost on purpose.`);
    check();
    commands += 1;
    const line = typeof command === "string" ? command : command.join(" ");
    const answer = (await options.onCommand?.(line, { files, options: execOptions, request })) ?? {};
    return toResult(answer, execOptions);
  };
  const info: SandboxInfo = {
    id,
    provider: "fake",
    isolation: "process",
    image: request.image,
    imageHash: "fake",
    limits: request.limits,
    network: request.network.mode,
    labels: request.labels,
  };
  return {
    id,
    info,
    exec,
    start: async (command, execOptions) => ({ kill: () => undefined, result: exec(command, execOptions) }),
    shell: async () => ({
      run: async (command, runOptions): Promise<ShellResult> => {
        const result = await exec(command, runOptions);
        const output = Buffer.concat([result.stdout, result.stderr]);
        const { verdict, exitCode, timedOut, oomKilled, durationMs } = result;
        const outputBytesTruncated = result.stdoutBytesTruncated + result.stderrBytesTruncated;
        return { verdict, exitCode, timedOut, oomKilled, durationMs, output, outputBytesTruncated, restarted: false };
      },
      close: async () => undefined,
    }),
    files: fakeFiles(files, check),
    stats: async () => {
      check();
      return {
        cpuMs: null,
        memoryBytes: null,
        memoryPeakBytes: null,
        diskBytes: null,
        processes: null,
        oomKills: null,
      };
    },
    freeze: async () => {
      check();
      isFrozen = true;
    },
    destroy: async () => {
      failure = new Failure("sandbox_destroyed", `Sandbox ${id} was destroyed.`);
      if (!isDestroyed) onDestroy();
      isDestroyed = true;
    },
  };
}

/** A provider of in-memory sandboxes. It isolates nothing and must never be offered to a policy. */
export function fakeProvider(options: FakeSandboxOptions = {}): SandboxProvider {
  const live = new Map<string, Sandbox>();
  let made = 0;
  let failures = options.createFailures ?? 0;
  return {
    name: "fake",
    capabilities: {
      isolation: "process",
      network: ["off"],
      limits: {
        cpus: "none",
        memoryBytes: "none",
        diskBytes: "none",
        filesMax: "none",
        processesMax: "none",
        shmBytes: "none",
      },
      oomEvidence: "none",
      killTree: "pid-namespace",
      snapshot: "none",
    },
    probe: async () => ({ provider: "fake", ok: true, lines: [] }),
    create: async (request, signal) => {
      if (signal.aborted) throw new Failure("cancelled", "The creation was cancelled.", { cause: signal.reason });
      if (failures > 0) {
        failures -= 1;
        throw new Failure("sandbox_unavailable", "This creation fails on purpose.");
      }
      made += 1;
      const id = `fake-${made}`;
      const sandbox = fakeSandbox(id, request, options, () => live.delete(id));
      live.set(id, sandbox);
      return sandbox;
    },
    list: async () => [...live.values()].map((sandbox) => sandbox.info),
    sweep: async () => ({ removed: [], kept: [] }),
    close: async () => {
      await Promise.all([...live.values()].map((sandbox) => sandbox.destroy()));
    },
  };
}

/** A pool of in-memory sandboxes without a ceiling and without ready ones. */
export function fakeSandboxPool(options: FakeSandboxOptions = {}): FakeSandboxPool {
  const provider = fakeProvider(options);
  const counts = { lent: 0, created: 0, destroyed: 0, failed: 0 };
  const claim = async (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> => {
    const sandbox = await provider.create(request, signal).catch((error: unknown) => {
      counts.failed += 1;
      throw error;
    });
    counts.created += 1;
    counts.lent += 1;
    let isBack = false;
    return {
      ...sandbox,
      destroy: async () => {
        await sandbox.destroy();
        if (isBack) return;
        isBack = true;
        counts.lent -= 1;
        counts.destroyed += 1;
      },
    };
  };
  return {
    get lent() {
      return counts.lent;
    },
    claim,
    withSandbox: async (request, signal, use) => {
      const sandbox = await claim(request, signal);
      try {
        return await use(sandbox);
      } finally {
        await sandbox.destroy();
      }
    },
    stats: (): SandboxPoolStats => ({ ready: 0, creating: 0, ...counts }),
    drain: async () => undefined,
  };
}
