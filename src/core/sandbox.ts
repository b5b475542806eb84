/**
 * A sandbox is the isolated machine one episode acts in; it serves one episode or one verifier and is then destroyed.
 * This file is the contract; providers live in `sandbox/`.
 *
 * A slow, failing or greedy command is a value. A lost sandbox is a thrown Failure. Every fact has its own field.
 */

/** Ordered, weakest first. `namespace` shares the host's kernel and says so. */
export type Isolation = "process" | "namespace" | "gvisor" | "vm";

export type NetworkPolicy =
  | { readonly mode: "off" }
  | { readonly mode: "allow-list"; readonly hosts: readonly string[] }
  | { readonly mode: "open" };

/** `host` is a curated read-only view of the machine's own system folders. */
export type ImageReference = string;

export interface SandboxLimits {
  /** Share of processor time; 0.5 is half a core. */
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Bytes the sandbox may write to its own layer. */
  readonly diskBytes: number;
  /** Files and folders the sandbox may create. */
  readonly filesMax: number;
  readonly processesMax: number;
  readonly shmBytes: number;
}

export interface SandboxRequest {
  readonly attemptId: string;
  /** `agent`, `verifier` or `subject`; a regrading adds its number. */
  readonly role: string;
  readonly fence: number;
  readonly image: ImageReference;
  readonly isolationMin: Isolation;
  readonly limits: SandboxLimits;
  readonly network: NetworkPolicy;
  /** Variables of every command; nothing of the host's environment is inherited. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** Hard end of the sandbox, whatever happens. */
  readonly lifetimeMs: number;
}

export interface SandboxInfo {
  readonly id: string;
  readonly provider: string;
  readonly isolation: Isolation;
  readonly image: ImageReference;
  readonly imageHash: string;
  readonly limits: SandboxLimits;
  readonly network: NetworkPolicy["mode"];
  readonly labels: Readonly<Record<string, string>>;
}

export type LimitSupport = "enforced" | "sampled" | "none";

export interface SandboxCapabilities {
  readonly isolation: Isolation;
  readonly network: readonly NetworkPolicy["mode"][];
  readonly limits: Readonly<Record<keyof SandboxLimits, LimitSupport>>;
  readonly oomEvidence: "per-exec" | "per-sandbox" | "none";
  readonly killTree: "cgroup" | "pid-namespace" | "uid-sweep";
  readonly snapshot: "none" | "filesystem" | "full";
}

/** One line of `sandlot doctor`: what works, what does not, why, and the command that would enable it. */
export interface ProbeLine {
  readonly name: string;
  readonly ok: boolean;
  readonly required: boolean;
  readonly evidence: string;
  readonly remedy: string | null;
}

export interface ProbeReport {
  readonly provider: string;
  readonly ok: boolean;
  readonly lines: readonly ProbeLine[];
}

export interface SweepReport {
  readonly removed: readonly string[];
  readonly kept: readonly string[];
}

export interface SandboxProvider {
  readonly name: string;
  readonly capabilities: SandboxCapabilities;
  probe(): Promise<ProbeReport>;
  /**
   * Resolves once a first exec has answered.
   * Throws `sandbox_unavailable`, `image_unavailable`, `isolation_too_weak`, `unsupported` or `request_invalid`.
   */
  create(request: SandboxRequest, signal: AbortSignal): Promise<Sandbox>;
  list(): Promise<readonly SandboxInfo[]>;
  /** Removes what dead owners left behind, and nothing of a live owner. */
  sweep(): Promise<SweepReport>;
  /** Destroys every sandbox of this provider and ends its helper process. Idempotent. */
  close(): Promise<void>;
}

export interface SandboxPoolStats {
  readonly ready: number;
  readonly creating: number;
  readonly lent: number;
  readonly created: number;
  readonly destroyed: number;
  readonly failed: number;
}

export interface SandboxPool {
  /** Lends a fresh sandbox to `use` and always destroys it, also when `use` throws. Waits while the pool is full. */
  withSandbox<T>(request: SandboxRequest, signal: AbortSignal, use: (sandbox: Sandbox) => Promise<T>): Promise<T>;
  /** A fresh sandbox the caller must `destroy()`. Waits while the pool is full. */
  claim(request: SandboxRequest, signal: AbortSignal): Promise<Sandbox>;
  stats(): SandboxPoolStats;
  /** Stops refilling, destroys the ready ones, waits until the lent ones are back. */
  drain(): Promise<void>;
}

/** A declared descriptor (>= 3) of a command, a stream of its own; grading talks over these and never over stdout. */
export interface ExecPipe {
  readonly fd: number;
  /** What the command reads from it; absent means it reads end of file at once. */
  readonly input?: AsyncIterable<Uint8Array>;
  /** Called with what the command writes to it, in order. */
  readonly onBytes?: (bytes: Uint8Array) => void;
}

export interface ExecOptions {
  readonly cwd?: string;
  readonly envVars?: Readonly<Record<string, string>>;
  /** A user of the sandbox by name or number: `root`, `agent` (uid 1000), `verifier` (1001), `subject` (1002). Default root. */
  readonly user?: string;
  readonly input?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly timeoutMs: number;
  /** Ends the command when it has written nothing for this long. */
  readonly idleOutputMs?: number;
  /** Between TERM and KILL at a timeout; default 200. */
  readonly killGraceMs?: number;
  /** Cap per stream. Bytes beyond it are counted and dropped, or the command is killed. */
  readonly outputBytesMax: number;
  readonly onOutputLimit?: "drop" | "kill";
  /** What happens to children that outlive the command; default `keep`. A timeout always kills. */
  readonly descendants?: "keep" | "kill";
  readonly onOutput?: (stream: "stdout" | "stderr", bytes: Uint8Array) => void;
  readonly signal?: AbortSignal;
  readonly pipes?: readonly ExecPipe[];
}

export type ExecVerdict =
  | "exited"
  | "signalled"
  | "timed_out"
  | "idle_timed_out"
  | "oom_killed"
  | "output_limit"
  | "cancelled"
  | "start_failed";

export type StartError =
  | "not_found"
  | "not_executable"
  | "is_directory"
  | "bad_interpreter"
  | "bad_cwd"
  | "too_long"
  | "process_limit";

export interface ExecResult {
  /** Exactly one; the more specific wins (`timed_out` over `signalled`). */
  readonly verdict: ExecVerdict;
  /** Null unless the command itself exited. */
  readonly exitCode: number | null;
  /** `SIGKILL`, …; null unless the command itself ended by a signal. */
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly idleTimedOut: boolean;
  /** From the kernel's counter, also when only a grandchild died. Exit code 137 alone never sets it. */
  readonly oomKilled: boolean;
  readonly startError: StartError | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Exact counts of bytes dropped beyond the cap. */
  readonly stdoutBytesTruncated: number;
  readonly stderrBytesTruncated: number;
  readonly durationMs: number;
  /** Null when not measurable, never 0 in its place. */
  readonly cpuMs: number | null;
  readonly memoryPeakBytes: number | null;
  /** How often the process limit refused a fork during the command. */
  readonly processLimitHits: number;
}

/** A command that runs while the caller goes on. */
export interface SandboxProcess {
  /** Signals the command's whole process group. */
  kill(signal: "SIGTERM" | "SIGKILL" | "SIGINT"): void;
  /** Settles once, with the command's end. Never throws for the command; throws `sandbox_lost` and its kin. */
  readonly result: Promise<ExecResult>;
}

export interface ShellRunOptions {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  readonly signal?: AbortSignal;
}

/** One command's result in a kept shell: stdout and stderr in order of arrival, as one stream. */
export interface ShellResult {
  readonly verdict: ExecVerdict;
  readonly exitCode: number | null;
  readonly output: Uint8Array;
  readonly outputBytesTruncated: number;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly durationMs: number;
  /** True when the shell itself ended (exit, kill, timeout) and the next `run` starts a new one in the first folder. */
  readonly restarted: boolean;
}

/** One bash kept alive: folder, variables and background children persist from run to run. One run at a time. */
export interface Shell {
  run(command: string, options: ShellRunOptions): Promise<ShellResult>;
  close(): Promise<void>;
}

export interface ShellOptions {
  readonly cwd?: string;
  readonly envVars?: Readonly<Record<string, string>>;
  readonly user?: string;
}

export type FileError =
  | "missing"
  | "denied"
  | "too_large"
  | "not_regular"
  | "is_directory"
  | "not_directory"
  | "refused_link"
  | "no_space"
  | "invalid_path";

export type FileResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: FileError; readonly message: string };

export interface FileEntry {
  /** Relative to the folder that was listed, with `/` between parts. */
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
}

/** A file to place in, or taken out of, a sandbox. `path` is absolute inside the sandbox. */
export interface FileContent {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/** Files inside the sandbox only: paths are absolute there, links are never followed out, nothing blocks. */
export interface SandboxFiles {
  read(path: string, options: { readonly bytesMax: number }): Promise<FileResult<Uint8Array>>;
  /** Creates parents. Written beside and renamed, so a reader never sees half a file. Owner: `user`, default root. */
  write(file: FileContent, options?: { readonly user?: string }): Promise<FileResult<null>>;
  /** Everything below `path`, depth first, sorted by name; at most `entriesMax`, else `too_large`. Links are not followed. */
  list(
    path: string,
    options: { readonly recursive: boolean; readonly entriesMax: number },
  ): Promise<FileResult<readonly FileEntry[]>>;
}

export interface SandboxStats {
  readonly cpuMs: number | null;
  readonly memoryBytes: number | null;
  readonly memoryPeakBytes: number | null;
  readonly diskBytes: number | null;
  readonly processes: number | null;
  readonly oomKills: number | null;
}

export interface Sandbox {
  readonly id: string;
  readonly info: SandboxInfo;
  /** A string runs as `/bin/sh -c`. Never throws for the command. Throws `sandbox_lost`, `_killed` or `_destroyed`. */
  exec(command: string | readonly string[], options: ExecOptions): Promise<ExecResult>;
  start(command: string | readonly string[], options: ExecOptions): Promise<SandboxProcess>;
  shell(options: ShellOptions): Promise<Shell>;
  readonly files: SandboxFiles;
  stats(): Promise<SandboxStats>;
  /** Ends every process the policy started; afterwards `exec`, `start` and `shell` throw `sandbox_busy`, files can be read. */
  freeze(): Promise<void>;
  /** Idempotent. Resolves when processes, mounts and groups are gone. */
  destroy(): Promise<void>;
}
