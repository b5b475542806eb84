/**
 * A sandbox small enough to read at a glance, for tests of the episode loop: files in memory, a shell of a few words
 * (`write PATH TEXT`, `read PATH`, `print TEXT`, `flood BYTES`, `sleep MS`, `exit CODE`, `oom`, `die`, `lose`). It counts
 * what was lent and what came back.
 */
import { Failure } from "../../src/core/errors.ts";
import type { Runtime } from "../../src/core/runtime.ts";
import type {
  ExecResult,
  FileContent,
  FileEntry,
  FileResult,
  Sandbox,
  SandboxFiles,
  SandboxPool,
  SandboxRequest,
  ShellResult,
  ShellRunOptions,
} from "../../src/core/sandbox.ts";

export interface TinyPool extends SandboxPool {
  readonly requests: SandboxRequest[];
  readonly lent: () => number;
}

export function tinyPool(runtime: Runtime, options: { readonly failClaim?: boolean } = {}): TinyPool {
  const requests: SandboxRequest[] = [];
  let alive = 0;
  const claim = async (request: SandboxRequest): Promise<Sandbox> => {
    if (options.failClaim === true) throw new Failure("sandbox_unavailable", "No sandbox could be made.");
    requests.push(request);
    alive += 1;
    return new TinySandbox(`tiny-${requests.length}`, request, runtime, () => {
      alive -= 1;
    });
  };
  return {
    requests,
    lent: () => alive,
    claim,
    withSandbox: async (request, _signal, use) => {
      const sandbox = await claim(request);
      try {
        return await use(sandbox);
      } finally {
        await sandbox.destroy();
      }
    },
    stats: () => ({ ready: 0, creating: 0, lent: alive, created: requests.length, destroyed: 0, failed: 0 }),
    drain: async () => undefined,
  };
}

class TinySandbox implements Sandbox {
  readonly id: string;
  readonly info;
  readonly #runtime: Runtime;
  readonly #gone: () => void;
  readonly #contents = new Map<string, FileContent>();
  #isDead = false;
  #isFrozen = false;
  #isDestroyed = false;

  constructor(id: string, request: SandboxRequest, runtime: Runtime, gone: () => void) {
    this.id = id;
    this.#runtime = runtime;
    this.#gone = gone;
    this.info = {
      id,
      provider: "tiny",
      isolation: "process" as const,
      image: request.image,
      imageHash: "tiny",
      limits: request.limits,
      network: request.network.mode,
      labels: request.labels,
    };
  }

  async exec(command: string | readonly string[]): Promise<ExecResult> {
    const words = typeof command === "string" ? command.split(" ") : ["exit", "0"];
    const code = words[0] === "exit" ? Number(words[1]) : 0;
    return {
      verdict: "exited",
      exitCode: code,
      signal: null,
      timedOut: false,
      idleTimedOut: false,
      oomKilled: false,
      startError: null,
      stdout: new Uint8Array(),
      stderr: Buffer.from(code === 0 ? "" : "set-up says no"),
      stdoutBytesTruncated: 0,
      stderrBytesTruncated: 0,
      durationMs: 0,
      cpuMs: null,
      memoryPeakBytes: null,
      processLimitHits: 0,
    };
  }

  async start(): Promise<never> {
    throw new Failure("unsupported", "The tiny sandbox starts nothing.");
  }

  async shell() {
    return {
      run: (command: string, options: ShellRunOptions) => this.#run(command, options),
      close: async () => undefined,
    };
  }

  readonly files: SandboxFiles = {
    read: async (path, options) => this.#read(path, options.bytesMax),
    write: async (file) => {
      this.#contents.set(file.path, file);
      return { ok: true, value: null };
    },
    list: async (path, options) => this.#list(path, options),
  };

  async stats() {
    return { cpuMs: 1, memoryBytes: null, memoryPeakBytes: null, diskBytes: null, processes: null, oomKills: null };
  }

  async freeze(): Promise<void> {
    if (this.#isDead) throw new Failure("sandbox_killed", "The agent killed its sandbox.");
    this.#isFrozen = true;
  }

  async destroy(): Promise<void> {
    if (!this.#isDestroyed) this.#gone();
    this.#isDestroyed = true;
  }

  async #run(command: string, options: ShellRunOptions): Promise<ShellResult> {
    if (this.#isFrozen) throw new Failure("sandbox_busy", "Frozen.");
    const [verb = "", first = "", ...rest] = command.split(" ");
    const result = { verdict: "exited" as const, oomKilled: false, timedOut: false, durationMs: 0, restarted: false };
    const done = (output: string | Uint8Array, exitCode: number | null = 0): ShellResult => {
      const bytes = typeof output === "string" ? Buffer.from(output) : output;
      const kept = bytes.subarray(0, options.outputBytesMax);
      return { ...result, exitCode, output: kept, outputBytesTruncated: bytes.length - kept.length };
    };
    switch (verb) {
      case "write":
        this.#contents.set(first, { path: first, bytes: Buffer.from(rest.join(" ")), mode: 0o644 });
        return done("");
      case "read": {
        const file = this.#contents.get(first);
        return file === undefined ? done(`${first}: no such file`, 1) : done(file.bytes);
      }
      case "print":
        return done([first, ...rest].join(" "));
      case "flood":
        return done(new Uint8Array(Number(first)).fill(0x78));
      case "sleep": {
        const isLate = Number(first) > options.timeoutMs;
        const isStopped = await this.#runtime.sleep(Math.min(Number(first), options.timeoutMs), options.signal).then(
          () => false,
          () => true,
        );
        return isLate || isStopped ? { ...done("", null), verdict: "timed_out", timedOut: isLate } : done("");
      }
      case "oom":
        return { ...done("", 137), oomKilled: true };
      case "die":
        this.#isDead = true;
        throw new Failure("sandbox_killed", "The agent killed its sandbox.");
      case "lose":
        throw new Failure("sandbox_lost", "The sandbox is gone.");
      default:
        return done("", verb === "exit" ? Number(first) : 127);
    }
  }

  #read(path: string, bytesMax: number): FileResult<Uint8Array> {
    const file = this.#contents.get(path);
    if (file === undefined) {
      const isFolder = [...this.#contents.keys()].some((other) => other.startsWith(`${path}/`));
      if (isFolder) return { ok: false, error: "is_directory", message: "It is a folder." };
      return { ok: false, error: "missing", message: "There is no such file." };
    }
    if (file.bytes.length > bytesMax) return { ok: false, error: "too_large", message: "It is too large." };
    return { ok: true, value: file.bytes };
  }

  #list(
    path: string,
    options: { readonly recursive: boolean; readonly entriesMax: number },
  ): FileResult<readonly FileEntry[]> {
    const prefix = path === "/" ? "/" : `${path}/`;
    const entries = new Map<string, FileEntry>();
    for (const file of [...this.#contents.values()].filter((content) => content.path.startsWith(prefix))) {
      const below = file.path.slice(prefix.length);
      const [folder = "", ...rest] = below.split("/");
      if (rest.length > 0) entries.set(folder, { path: folder, kind: "folder", bytes: 0, mode: 0o755 });
      if (rest.length > 0 && !options.recursive) continue;
      entries.set(below, { path: below, kind: "file", bytes: file.bytes.length, mode: file.mode });
    }
    if (entries.size > options.entriesMax) return { ok: false, error: "too_large", message: "Too many entries." };
    return { ok: true, value: [...entries.values()].sort((a, b) => (a.path < b.path ? -1 : 1)) };
  }
}
