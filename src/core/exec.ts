/**
 * One command in a sandbox: what a caller may ask for and everything that is known of how it ended. A slow, failing or
 * greedy command is a value with a field for each fact; only a lost sandbox is a thrown Failure.
 */

/** A declared descriptor (>= 3) of a command, a stream of its own; grading talks over these and never over stdout. */
export interface ExecPipe {
  readonly fd: number;
  /** What the command reads from it; absent means it reads end of file at once. */
  readonly input?: AsyncIterable<Uint8Array>;
  /** Called with what the command writes to it, in order. */
  readonly onBytes?: (bytes: Uint8Array) => void;
}

/** Times are milliseconds of a clock that never jumps. A bound that is negative or not finite is `request_invalid`. */
export interface ExecOptions {
  /** Default: where the image's maker wants commands to run, else `/`. */
  readonly cwd?: string;
  readonly envVars?: Readonly<Record<string, string>>;
  /** A user of the sandbox by name or number: `root`, `agent` (uid 1000), `verifier` (1001), `subject` (1002). Default root. */
  readonly user?: string;
  /** Absent: end of file at once. `open` (of `start` only): what the caller writes, until it closes the input. */
  readonly input?: Uint8Array | AsyncIterable<Uint8Array> | "open";
  /** Of the whole command, after which its tree is ended. */
  readonly timeoutMs: number;
  /** Ends the command when it has written nothing for this long. */
  readonly idleOutputMs?: number;
  /** Between TERM and KILL at a timeout; default 200. */
  readonly killGraceMs?: number;
  /** Cap per stream. */
  readonly outputBytesMax: number;
  /** Bytes beyond the cap are counted and dropped (default), or the command is killed. */
  readonly onOutputLimit?: "drop" | "kill";
  /** What happens to children that outlive the command; default `keep`. A timeout always kills. */
  readonly descendants?: "keep" | "kill";
  /** Called with the output as it comes, within the cap; the result holds it too. */
  readonly onOutput?: (stream: "stdout" | "stderr", bytes: Uint8Array) => void;
  /** Ends the command as `cancelled` when it aborts. */
  readonly signal?: AbortSignal;
  /** At most 8, each descriptor once, from 3 to 255. */
  readonly pipes?: readonly ExecPipe[];
  /** Runs the command at a terminal of its own. Standard output and error are then one stream, told as stdout. */
  readonly pty?: TerminalSize;
}

/** 1 to 65,535 each. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** How a command ended, in one word. */
export type ExecVerdict =
  | "exited"
  | "signalled"
  | "timed_out"
  | "idle_timed_out"
  | "oom_killed"
  | "output_limit"
  | "cancelled"
  | "start_failed";

/** Why a command never ran. `process_limit`: the sandbox has as many processes as it may. */
export type StartError =
  | "not_found"
  | "not_executable"
  | "is_directory"
  | "bad_interpreter"
  | "bad_cwd"
  | "too_long"
  | "process_limit";

/** How a command ended. Its output is raw bytes; times are milliseconds. */
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
  /** Where the kernel counted the kill: `exec` when the command has a counter of its own, else `sandbox`; null without one. */
  readonly oomScope: "exec" | "sandbox" | null;
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
  /** Processes of the command that live on after it; 0 after a timeout. */
  readonly processesLeft: number;
}

/** What `kill` can send. */
export type ProcessSignal = "SIGTERM" | "SIGKILL" | "SIGINT" | "SIGHUP" | "SIGSTOP" | "SIGCONT" | "SIGUSR1" | "SIGUSR2";

/** A command that runs while the caller goes on. */
export interface SandboxProcess {
  /** Names it to `attach`; unique in its sandbox. */
  readonly id: string;
  /** Resolves when the sandbox has taken the bytes. Throws `request_invalid` when the input is not `open` or was closed. */
  write(bytes: Uint8Array): Promise<void>;
  /** The command reads end of file after what was written. Idempotent. Throws `request_invalid` when it is not `open`. */
  closeInput(): void;
  /** Signals the command's whole process group. */
  kill(signal: ProcessSignal): void;
  /** Tells a command at a terminal its new size; nothing happens without one. Throws `request_invalid` for no size. */
  resize(size: TerminalSize): void;
  /** Settles once, with the command's end. Never throws for the command; throws `sandbox_lost` and its kin. */
  readonly result: Promise<ExecResult>;
}

/** As the fields of the same name in `ExecOptions`; the cap is of the one stream. */
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

/** One bash kept alive: folder, variables and background children persist from run to run. */
export interface Shell {
  /** Throws `sandbox_busy` while another run is open and after `close`, and the sandbox's own failure. */
  run(command: string, options: ShellRunOptions): Promise<ShellResult>;
  /** Ends the bash and what it started. Idempotent. */
  close(): Promise<void>;
}

/** What every run of a kept shell shares. */
export interface ShellOptions {
  /** Default: where the image's maker wants commands to run, else the user's home. */
  readonly cwd?: string;
  readonly envVars?: Readonly<Record<string, string>>;
  readonly user?: string;
}
