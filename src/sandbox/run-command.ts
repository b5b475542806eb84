/**
 * Runs one command over an agent connection: sends the request, feeds its input within the agent's credit, collects its
 * capped output, and turns the exit frame into an ExecResult. A second clock here catches an agent that does not answer.
 */
import { constants } from "node:os";
import { Failure } from "../core/errors.ts";
import type { ExecOptions, ExecPipe, ExecResult, ExecVerdict, SandboxProcess, StartError } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { AgentClient } from "./agent-client.ts";
import {
  decodeExit,
  EXIT_FLAG,
  type ExecFrame,
  type ExitFrame,
  encodeExec,
  FRAME,
  JOB,
  PAYLOAD_BYTES_MAX,
} from "./frames.ts";

/** Bytes of input the agent holds for one stream before the command reads them; `INPUT_WINDOW` of the helper. */
const INPUT_WINDOW_BYTES = 262_144;
/** The agent enforces every deadline; this much later its silence means that the sandbox is lost. */
const AGENT_LATE_MS = 500;
/** The agent waits this long for a killed tree to leave the kernel. */
const TREE_GONE_MS = 2_000;
const TIMER_MS_MAX = 2_147_483_647;
/** `STREAMS_MAX` and `PIPE_FD_MAX` of the helper; a descriptor used both ways counts twice there. */
const PIPES_MAX = 4;
const PIPE_FD_MAX = 255;
const REQUEST_BYTES_MAX = 4 << 20;

const USERS: Readonly<Record<string, { readonly uid: number; readonly home: string }>> = {
  root: { uid: 0, home: "/root" },
  agent: { uid: 1000, home: "/home/agent" },
  verifier: { uid: 1001, home: "/home/verifier" },
  subject: { uid: 1002, home: "/home/subject" },
};

const START_ERRORS: readonly StartError[] = [
  "not_found",
  "not_executable",
  "is_directory",
  "bad_interpreter",
  "bad_cwd",
  "too_long",
  "process_limit",
];

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** What a sandbox hands to each command it runs. */
export interface CommandContext {
  readonly client: AgentClient;
  readonly runtime: Runtime;
  readonly envVars: Readonly<Record<string, string>>;
  /** Ends a sandbox whose agent no longer answers. */
  kill(): void;
}

/** Uid and home of a user of the sandbox. Throws `request_invalid` for a name no image has. */
export function sandboxUser(user: string | undefined): { readonly uid: number; readonly home: string } {
  const name = user ?? "root";
  const known = USERS[name];
  if (known !== undefined) return known;
  const uid = /^\d{1,5}$/.test(name) ? Number(name) : Number.NaN;
  if (uid <= 65_535) return Object.values(USERS).find((each) => each.uid === uid) ?? { uid, home: "/" };
  throw new Failure(
    "request_invalid",
    `Unknown sandbox user "${name}"; use root, agent, verifier, subject or a number up to 65535.`,
  );
}

/** A command's whole environment, built from nothing. */
export function commandEnvVars(
  home: string,
  ...layers: readonly (Readonly<Record<string, string>> | undefined)[]
): Record<string, string> {
  const base = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LANG: "C.UTF-8",
    HOME: home,
    TZ: "UTC",
  };
  return Object.assign(base, ...layers.map((layer) => layer ?? {}));
}

/** Throws `request_invalid` for a descriptor the helper could not give. */
function refuseBadPipes(pipes: readonly ExecPipe[]): void {
  const isValid = (fd: number): boolean => Number.isInteger(fd) && fd >= 3 && fd <= PIPE_FD_MAX;
  const fds = new Set(pipes.map((pipe) => pipe.fd));
  if (pipes.length > PIPES_MAX || fds.size < pipes.length || !pipes.every((pipe) => isValid(pipe.fd)))
    throw new Failure(
      "request_invalid",
      `A command may have at most ${PIPES_MAX} extra descriptors, each once, from 3 to ${PIPE_FD_MAX}; ` +
        `asked for ${pipes.map((pipe) => pipe.fd).join(", ")}.`,
    );
}

function toFrame(context: CommandContext, command: string | readonly string[], options: ExecOptions): ExecFrame {
  const user = sandboxUser(options.user);
  refuseBadPipes(options.pipes ?? []);
  return {
    kind: JOB.command,
    killsAtLimit: options.onOutputLimit === "kill",
    killsDescendants: options.descendants === "kill",
    hasInput: options.input !== undefined,
    uid: user.uid,
    timeoutMs: Math.max(1, options.timeoutMs),
    idleOutputMs: options.idleOutputMs ?? 0,
    killGraceMs: options.killGraceMs ?? 200,
    outputBytesMax: options.outputBytesMax,
    pipes: (options.pipes ?? []).map((pipe) => ({
      fd: pipe.fd,
      ways: pipe.onBytes === undefined ? 1 : pipe.input === undefined ? 2 : 3,
    })),
    cwd: options.cwd ?? "/",
    argv: typeof command === "string" ? ["/bin/sh", "-c", command] : command,
    envVars: commandEnvVars(user.home, context.envVars, options.envVars),
  };
}

/** Starts a command. The result settles once; it rejects only when the sandbox is gone. */
export function startCommand(
  context: CommandContext,
  command: string | readonly string[],
  options: ExecOptions,
): SandboxProcess {
  return startJob(context, toFrame(context, command, options), options);
}

/** With `keepsOutput` false the result has no output; it was told to `onOutput` alone. */
export function startJob(
  context: CommandContext,
  frame: ExecFrame,
  options: ExecOptions,
  keepsOutput = true,
): SandboxProcess {
  const { client, runtime } = context;
  const texts = [frame.cwd, ...frame.argv, ...Object.entries(frame.envVars).flat()];
  const nothing = { kill: (): void => undefined };
  if (frame.argv.length === 0 || texts.some((text) => text.includes("\0")))
    return { ...nothing, result: Promise.resolve(startFailed("not_found")) };
  const request = encodeExec(frame);
  if (request.length > REQUEST_BYTES_MAX) return { ...nothing, result: Promise.resolve(startFailed("too_long")) };
  if (options.signal?.aborted)
    return { ...nothing, result: Promise.resolve({ ...startFailed(null), verdict: "cancelled" }) };

  const outputs = { 1: [] as Buffer[], 2: [] as Buffer[] };
  const feeds = new Map<number, InputFeed>();
  let channel = 0;
  const result = new Promise<ExecResult>((resolve, reject) => {
    const abort = (): void => client.send(channel, FRAME.cancel, 0, new Uint8Array());
    const lateMs = Math.min(TIMER_MS_MAX, frame.timeoutMs + frame.killGraceMs + TREE_GONE_MS + AGENT_LATE_MS);
    const cancelLate = runtime.timer(lateMs, () => context.kill());
    const settle = (finish: () => void): void => {
      cancelLate();
      client.close(channel);
      options.signal?.removeEventListener("abort", abort);
      for (const feed of feeds.values()) feed.stop();
      finish();
    };
    channel = client.open({
      onEnd: (failure) => settle(() => reject(failure)),
      onFrame: (received) => {
        if (received.type === FRAME.output) {
          const bytes = Buffer.from(received.payload);
          if (received.flags === 1 || received.flags === 2) {
            if (keepsOutput) outputs[received.flags].push(bytes);
            options.onOutput?.(received.flags === 1 ? "stdout" : "stderr", bytes);
          } else {
            options.pipes?.find((pipe) => pipe.fd === received.flags)?.onBytes?.(bytes);
          }
        } else if (received.type === FRAME.credit) {
          feeds.get(received.flags)?.credit(received.payload.readUInt32LE(0));
        } else if (received.type === FRAME.exit) {
          const exit = decodeExit(received.payload);
          settle(() => resolve(toResult(exit, Buffer.concat(outputs[1]), Buffer.concat(outputs[2]))));
        }
      },
    });
    options.signal?.addEventListener("abort", abort, { once: true });
    client.sendRequest(channel, FRAME.exec, request);
    const send = (fd: number, bytes: Uint8Array): void => client.send(channel, FRAME.input, fd, bytes);
    if (options.input !== undefined) feeds.set(0, feedInput(0, options.input, send));
    for (const pipe of options.pipes ?? [])
      if (pipe.input !== undefined || pipe.onBytes === undefined)
        feeds.set(pipe.fd, feedInput(pipe.fd, pipe.input ?? new Uint8Array(), send));
  });
  /* A caller that only ever kills its process must not be ended by the sandbox's loss. */
  result.catch(() => undefined);
  return {
    kill: (signal) => client.send(channel, FRAME.signal, constants.signals[signal], new Uint8Array()),
    result,
  };
}

interface InputFeed {
  credit(bytes: number): void;
  stop(): void;
}

/** Sends one input stream, never more than the window ahead of what the command has read; then its end of file. */
function feedInput(
  fd: number,
  input: Uint8Array | AsyncIterable<Uint8Array>,
  send: (fd: number, bytes: Uint8Array) => void,
): InputFeed {
  let room = INPUT_WINDOW_BYTES;
  let isStopped = false;
  let wake = (): void => undefined;
  const pump = async (): Promise<void> => {
    const chunks = input instanceof Uint8Array ? [input] : input;
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; ) {
        while (room === 0 && !isStopped) await new Promise<void>((resolve) => (wake = resolve));
        if (isStopped) return;
        const end = Math.min(chunk.length, at + Math.min(room, PAYLOAD_BYTES_MAX));
        send(fd, chunk.subarray(at, end));
        room -= end - at;
        at = end;
      }
      if (isStopped) return;
    }
  };
  /* An input that throws ends the command's input; what the command makes of that is its result. */
  void pump()
    .catch(() => undefined)
    .then(() => {
      if (!isStopped) send(fd, new Uint8Array());
    });
  return {
    credit: (bytes) => {
      room += bytes;
      wake();
    },
    stop: () => {
      isStopped = true;
      wake();
    },
  };
}

/** Exactly one verdict; the more specific wins. */
function verdictOf(exit: ExitFrame): ExecVerdict {
  const has = (flag: number): boolean => (exit.flags & flag) !== 0;
  if (has(EXIT_FLAG.cancelled)) return "cancelled";
  if (has(EXIT_FLAG.timedOut)) return "timed_out";
  if (has(EXIT_FLAG.idleTimedOut)) return "idle_timed_out";
  if (has(EXIT_FLAG.outputLimit)) return "output_limit";
  if (exit.how === "start_failed") return "start_failed";
  /* A command that lived on after a child was killed for memory has an exit of its own; the flag still tells. */
  if (exit.how === "signalled" && exit.code === constants.signals.SIGKILL && has(EXIT_FLAG.oomKilled))
    return "oom_killed";
  return exit.how;
}

function toResult(exit: ExitFrame, stdout: Uint8Array, stderr: Uint8Array): ExecResult {
  const verdict = verdictOf(exit);
  const isOwnEnd = verdict === "exited" || verdict === "signalled" || verdict === "oom_killed";
  const hasRun = exit.how !== "start_failed";
  return {
    verdict,
    exitCode: isOwnEnd && exit.how === "exited" ? exit.code : null,
    signal: isOwnEnd && exit.how === "signalled" ? (SIGNAL_NAMES.get(exit.code) ?? `SIG${exit.code}`) : null,
    timedOut: (exit.flags & EXIT_FLAG.timedOut) !== 0,
    idleTimedOut: (exit.flags & EXIT_FLAG.idleTimedOut) !== 0,
    oomKilled: (exit.flags & EXIT_FLAG.oomKilled) !== 0,
    startError: hasRun ? null : (START_ERRORS[exit.startError - 1] ?? "not_executable"),
    stdout,
    stderr,
    stdoutBytesTruncated: exit.stdoutBytesDropped,
    stderrBytesTruncated: exit.stderrBytesDropped,
    durationMs: exit.durationMs,
    cpuMs: hasRun ? exit.cpuMs : null,
    memoryPeakBytes: hasRun ? exit.memoryPeakBytes : null,
    processLimitHits: exit.processLimitHits,
  };
}

/** The result of a command that never ran. */
export function startFailed(startError: StartError | null): ExecResult {
  return {
    verdict: "start_failed",
    exitCode: null,
    signal: null,
    timedOut: false,
    idleTimedOut: false,
    oomKilled: false,
    startError,
    stdout: new Uint8Array(),
    stderr: new Uint8Array(),
    stdoutBytesTruncated: 0,
    stderrBytesTruncated: 0,
    durationMs: 0,
    cpuMs: null,
    memoryPeakBytes: null,
    processLimitHits: 0,
  };
}
