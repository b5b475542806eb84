/** What a caller's command becomes in a sandbox: its user, its environment, its limits and descriptors, as a job of the agent. */
import { Failure } from "../core/errors.ts";
import type { ExecOptions, ExecPipe, ExecResult, SandboxProcess } from "../core/exec.ts";
import { refuseBadBounds, refuseBadTerminal } from "./command-bounds.ts";
import type { CommandContext } from "./command-context.ts";
import { type ExecFrame, JOB } from "./frames.ts";
import { keepCommand } from "./kept-commands.ts";
import { type EndedJob, RunningJob, startJob } from "./run-job.ts";

/** `PIPES_MAX` and `PIPE_FD_MAX` of the helper. */
const PIPES_MAX = 8;
const PIPE_FD_MAX = 255;
const TERMINAL_ENV_VARS = { TERM: "xterm-256color" };

const USERS: Readonly<Record<string, { readonly uid: number; readonly home: string }>> = {
  root: { uid: 0, home: "/root" },
  agent: { uid: 1000, home: "/home/agent" },
  verifier: { uid: 1001, home: "/home/verifier" },
  subject: { uid: 1002, home: "/home/subject" },
};

/** Uid and home of a user of the sandbox. Throws `request_invalid` for a name no image has, `unsupported` without ids. */
export function sandboxUser(
  user: string | undefined,
  context: Pick<CommandContext, "hasOnlyRoot"> = {},
): { readonly uid: number; readonly home: string } {
  const name = user ?? "root";
  if (context.hasOnlyRoot === true && name !== "root" && name !== "0")
    throw new Failure(
      "unsupported",
      `No user "${name}" can be had: this account has no range of ids, so root is the only user of its sandboxes. ` +
        "Give it one, for example: usermod --add-subuids 200000-265535 --add-subgids 200000-265535 NAME",
    );
  const known = Object.hasOwn(USERS, name) ? USERS[name] : undefined;
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
  const user = sandboxUser(options.user, context);
  const { timeoutMs, idleOutputMs, killGraceMs, outputBytesMax } = options;
  refuseBadBounds({ timeoutMs, idleOutputMs, killGraceMs, outputBytesMax });
  refuseBadPipes(options.pipes ?? []);
  if (options.pty !== undefined) refuseBadTerminal(options.pty);
  return {
    kind: JOB.command,
    killsAtLimit: options.onOutputLimit === "kill",
    killsDescendants: options.descendants === "kill",
    hasInput: options.input !== undefined,
    uid: user.uid,
    timeoutMs: Math.max(1, timeoutMs),
    idleOutputMs: idleOutputMs ?? 0,
    killGraceMs: killGraceMs ?? 200,
    outputBytesMax,
    pipes: (options.pipes ?? []).map((pipe) => ({
      fd: pipe.fd,
      ways: pipe.onBytes === undefined ? 1 : pipe.input === undefined ? 2 : 3,
    })),
    cwd: options.cwd ?? context.workdir ?? "/",
    argv: typeof command === "string" ? ["/bin/sh", "-c", command] : command,
    envVars: commandEnvVars(user.home, options.pty && TERMINAL_ENV_VARS, context.envVars, options.envVars),
    ...(options.pty === undefined ? {} : { terminal: options.pty }),
  };
}

/** Starts a command. The result settles once; it rejects only when the sandbox is gone. */
export function startCommand(
  context: CommandContext,
  command: string | readonly string[],
  options: ExecOptions,
): RunningJob | EndedJob {
  return startJob(context, toFrame(context, command, options), options);
}

/** Runs a command to its end. Throws `request_invalid` for an input that nobody could write to. */
export function execCommand(
  context: CommandContext,
  command: string | readonly string[],
  options: ExecOptions,
): Promise<ExecResult> {
  if (options.input === "open")
    throw new Failure("request_invalid", 'An input of "open" is for start(), whose caller can write to it.');
  return startCommand(context, command, options).result;
}

/** Starts a command that can be attached to by its id. */
export function startKeptCommand(
  context: CommandContext,
  command: string | readonly string[],
  options: ExecOptions,
): SandboxProcess {
  const job = startCommand(context, command, options);
  if (job instanceof RunningJob) keepCommand(context, job);
  return job;
}
