/**
 * The commands of a fake sandbox: each is answered by a given function, within the limits and ends its caller asked for.
 * There is no clock: a command ends when its answer does, when it is given up, signalled, or its sandbox is gone.
 */
import { Failure } from "../core/errors.ts";
import type { ExecOptions, ExecResult, ProcessSignal, SandboxProcess, Shell, ShellResult } from "../core/exec.ts";
import type { ProcessInfo, Sandbox, SandboxRequest } from "../core/sandbox.ts";
import { startFailed } from "./exec-result.ts";
import type { FakeFiles } from "./fake-sandbox-tree.ts";
import { sandboxUser } from "./run-command.ts";

/** What a scripted command answers; what is absent is an exit with code 0 and no output. */
export interface FakeAnswer {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Any field of the result, such as `verdict: "timed_out"`. */
  readonly result?: Partial<ExecResult>;
}

export interface FakeCommandContext {
  readonly files: FakeFiles;
  readonly options: ExecOptions;
  readonly request: SandboxRequest;
  /** All the command is given on its input, once that has ended. */
  input(): Promise<Uint8Array>;
}

export type FakeCommand = (command: string, context: FakeCommandContext) => FakeAnswer | Promise<FakeAnswer>;

export interface FakeCommandSettings {
  readonly request: SandboxRequest;
  readonly files: FakeFiles;
  readonly onCommand: FakeCommand | undefined;
  /** Throws when no command may start now. Called once per command. */
  readonly admit: () => void;
  /** Aborts with the failure that ends the sandbox. */
  readonly ended: AbortSignal;
}

export interface FakeCommands extends Pick<Sandbox, "exec" | "start" | "shell" | "attach" | "processes"> {
  /** Ends all that runs. */
  killAll(): void;
}

interface Running extends SandboxProcess {
  readonly info: ProcessInfo;
  /** Whether the command has ended. */
  readonly isOver: () => boolean;
  readonly output: Output;
}

interface Output {
  readonly chunks: [stream: "stdout" | "stderr", bytes: Uint8Array][];
  readonly listeners: NonNullable<ExecOptions["onOutput"]>[];
}

const STARTED_MAX = 1_000;
/** What is known of a command of which nothing is known but its verdict. */
const NOTHING: ExecResult = startFailed(null);
const encoder = new TextEncoder();

export function fakeCommands(settings: FakeCommandSettings): FakeCommands {
  const started = new Map<string, Running>();
  let pids = 1;
  const start = (command: string | readonly string[], options: ExecOptions): Running => {
    settings.admit();
    pids += 1;
    const running = startFake(settings, pids, command, options);
    started.set(running.id, running);
    const [oldest] = [...started.values()].filter((each) => each.isOver());
    if (started.size > STARTED_MAX && oldest !== undefined) started.delete(oldest.id);
    return running;
  };
  const exec: Sandbox["exec"] = async (command, options) => start(command, options).result;
  return {
    exec,
    start: async (command, options) => {
      const running = start(command, options);
      void running.result.catch(() => undefined);
      return running;
    },
    shell: async (options) => {
      settings.admit();
      return fakeShell((command, runOptions) => exec(command, { ...options, ...runOptions }));
    },
    attach: async (id, onOutput) => {
      if (settings.ended.aborted) throw settings.ended.reason;
      const running = started.get(id);
      if (running === undefined) throw new Failure("not_found", `This sandbox started no command "${id}".`);
      for (const [stream, bytes] of running.output.chunks) onOutput?.(stream, bytes);
      if (onOutput !== undefined) running.output.listeners.push(onOutput);
      return running;
    },
    processes: async () => {
      if (settings.ended.aborted) throw settings.ended.reason;
      return [...started.values()].filter((each) => !each.isOver()).map((each) => each.info);
    },
    killAll: () => {
      for (const running of started.values()) running.kill("SIGKILL");
    },
  };
}

function startFake(
  settings: FakeCommandSettings,
  pid: number,
  command: string | readonly string[],
  options: ExecOptions,
): Running {
  const line = typeof command === "string" ? command : command.join(" ");
  const { uid } = sandboxUser(options.user);
  const input = fakeInput(options);
  const output: Output = { chunks: [], listeners: options.onOutput === undefined ? [] : [options.onOutput] };
  let isOver = false;
  const cut = Promise.withResolvers<ExecResult>();
  const answer = async (): Promise<ExecResult> => {
    const context = { files: settings.files, options, request: settings.request, input: () => input.all };
    const result = toResult((await settings.onCommand?.(line, context)) ?? {}, options);
    if (isOver) return result;
    for (const [stream, bytes] of [
      ["stdout", result.stdout],
      ["stderr", result.stderr],
    ] as const) {
      if (bytes.length === 0) continue;
      output.chunks.push([stream, bytes]);
      for (const listener of output.listeners) listener(stream, bytes);
    }
    return result;
  };
  const onEnded = (): void => cut.reject(settings.ended.reason);
  const onAborted = (): void => cut.resolve({ ...NOTHING, verdict: "cancelled" });
  const watched = [
    [settings.ended, onEnded],
    [options.signal, onAborted],
  ] as const;
  for (const [signal, listener] of watched) {
    if (signal?.aborted) listener();
    else signal?.addEventListener("abort", listener, { once: true });
  }
  const result = Promise.race([cut.promise, answer()]).finally(() => {
    isOver = true;
    for (const [signal, listener] of watched) signal?.removeEventListener("abort", listener);
  });
  return {
    id: `command-${pid}`,
    info: { pid, parentPid: 1, uid, command: line.slice(0, 4_096), cpuMs: 0, memoryBytes: 0 },
    output,
    isOver: () => isOver,
    write: input.write,
    closeInput: input.close,
    kill: (signal) => {
      if (ENDING.includes(signal)) cut.resolve({ ...NOTHING, verdict: "signalled", signal });
    },
    resize: () => undefined,
    result,
  };
}

const ENDING: readonly ProcessSignal[] = ["SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"];

interface FakeInput {
  readonly all: Promise<Uint8Array>;
  write(bytes: Uint8Array): Promise<void>;
  close(): void;
}

function fakeInput({ input }: ExecOptions): FakeInput {
  const parts: Uint8Array[] = [];
  const whole = Promise.withResolvers<Uint8Array>();
  let isOpen = input === "open";
  const close = (): void => {
    isOpen = false;
    whole.resolve(Buffer.concat(parts));
  };
  const collect = async (): Promise<void> => {
    if (input instanceof Uint8Array) parts.push(input);
    else if (input !== undefined && input !== "open") for await (const part of input) parts.push(part);
    close();
  };
  if (input !== "open") void collect().catch(whole.reject);
  void whole.promise.catch(() => undefined);
  return {
    all: whole.promise,
    write: async (bytes) => {
      if (!isOpen) throw new Failure("request_invalid", 'The input of this command is not open; start it with "open".');
      parts.push(Uint8Array.from(bytes));
    },
    close,
  };
}

function toResult(answer: FakeAnswer, options: ExecOptions): ExecResult {
  const cut = (output: string | undefined): { bytes: Uint8Array; truncated: number } => {
    const bytes = encoder.encode(output ?? "");
    return {
      bytes: bytes.subarray(0, options.outputBytesMax),
      truncated: Math.max(0, bytes.length - options.outputBytesMax),
    };
  };
  const stdout = cut(answer.stdout);
  const stderr = cut(answer.stderr);
  return {
    ...NOTHING,
    verdict: "exited",
    exitCode: answer.exitCode ?? 0,
    stdout: stdout.bytes,
    stderr: stderr.bytes,
    stdoutBytesTruncated: stdout.truncated,
    stderrBytesTruncated: stderr.truncated,
    ...answer.result,
  };
}

/** Keeps nothing from run to run but its being open. */
function fakeShell(exec: (command: string, options: ExecOptions) => Promise<ExecResult>): Shell {
  let isClosed = false;
  return {
    run: async (command, options): Promise<ShellResult> => {
      if (isClosed) throw new Failure("sandbox_busy", "This shell was closed.");
      const result = await exec(command, options);
      const output = Buffer.concat([result.stdout, result.stderr]);
      const { verdict, exitCode, timedOut, oomKilled, durationMs } = result;
      const outputBytesTruncated = result.stdoutBytesTruncated + result.stderrBytesTruncated;
      return { verdict, exitCode, timedOut, oomKilled, durationMs, output, outputBytesTruncated, restarted: false };
    },
    close: async () => {
      isClosed = true;
    },
  };
}
