/**
 * A kept shell: one bash that lives from run to run. The end of each command is reported on a descriptor of its own with
 * a token made for that run (`native/helper/shell.c`), so nothing a command prints can be taken for its end.
 */
import { Failure } from "../core/errors.ts";
import type { Shell, ShellOptions, ShellResult, ShellRunOptions } from "../core/sandbox.ts";
import { decodeExit, EXIT_FLAG, encodeExec, FRAME, type Frame, JOB } from "./frames.ts";
import { type CommandContext, commandEnvVars, sandboxUser } from "./run-command.ts";

const REPORT_FD = 201;
const KILL_GRACE_MS = 200;
/** After a timeout the agent may still try to keep the shell, then waits for the killed tree. */
const AGENT_LATE_MS = 3_000;
/** Output of background children between two runs, given to the next run. */
const BETWEEN_RUNS_BYTES_MAX = 65_536;

interface Run {
  readonly options: ShellRunOptions;
  readonly resolve: (result: ShellResult) => void;
  readonly reject: (failure: Failure) => void;
  readonly cleanUp: () => void;
  chunks: Buffer[];
}

export function keptShell(context: CommandContext, options: ShellOptions): Shell {
  const { client, runtime } = context;
  const user = sandboxUser(options.user);
  let channel: number | null = null;
  let run: Run | null = null;
  let between: Buffer[] = [];
  let isClosed = false;

  const finish = (result: Omit<ShellResult, "output">): void => {
    const ended = run;
    if (ended === null) return;
    run = null;
    ended.cleanUp();
    const all = Buffer.concat(ended.chunks);
    const max = ended.options.outputBytesMax;
    const cut = Math.max(0, all.length - max);
    ended.resolve({ ...result, output: all.subarray(0, max), outputBytesTruncated: result.outputBytesTruncated + cut });
  };
  const onFrame = (frame: Frame): void => {
    if (frame.type === FRAME.output) {
      if (run !== null) run.chunks.push(Buffer.from(frame.payload));
      else if (between.reduce((sum, chunk) => sum + chunk.length, 0) < BETWEEN_RUNS_BYTES_MAX)
        between.push(Buffer.from(frame.payload));
    } else if (frame.type === FRAME.shellDone) {
      finish(fromDone(frame.payload));
    } else if (frame.type === FRAME.exit) {
      if (channel !== null) client.close(channel);
      channel = null;
      finish(fromExit(frame.payload));
    }
  };
  const onEnd = (failure: Failure): void => {
    channel = null;
    const ended = run;
    run = null;
    ended?.cleanUp();
    ended?.reject(failure);
  };
  const ensureShell = (): number => {
    if (channel !== null) return channel;
    const opened = client.open({ onFrame, onEnd });
    channel = opened;
    const argv = ["/bin/bash", "--noprofile", "--norc", "-s"];
    const envVars = commandEnvVars(user.home, context.envVars, options.envVars);
    const frame = {
      kind: JOB.shell,
      killsAtLimit: false,
      killsDescendants: false,
      hasInput: true,
      uid: user.uid,
      timeoutMs: 0,
      idleOutputMs: 0,
      killGraceMs: KILL_GRACE_MS,
      outputBytesMax: BETWEEN_RUNS_BYTES_MAX,
      pipes: [],
      cwd: options.cwd ?? user.home,
      argv,
      envVars,
    };
    client.sendRequest(opened, FRAME.exec, encodeExec(frame));
    return opened;
  };

  return {
    run: (command, runOptions) =>
      new Promise((resolve, reject) => {
        if (isClosed) throw new Failure("sandbox_busy", "This shell was closed.");
        if (run !== null) throw new Failure("sandbox_busy", "A kept shell runs one command at a time.");
        if (command.includes("\0")) {
          resolve({ ...ended("start_failed", null), output: Buffer.from("the command holds a NUL byte\n") });
          return;
        }
        const to = ensureShell();
        const abort = (): void => client.send(to, FRAME.cancel, 0, new Uint8Array());
        const lateMs = runOptions.timeoutMs + KILL_GRACE_MS + AGENT_LATE_MS;
        const cancelLate = runtime.timer(lateMs, () => context.kill());
        const cleanUp = (): void => {
          cancelLate();
          runOptions.signal?.removeEventListener("abort", abort);
        };
        run = { options: runOptions, resolve, reject, cleanUp, chunks: between };
        between = [];
        client.sendRequest(to, FRAME.shellRun, encodeRun(command, runOptions, runtime.randomBytes(8)));
        runOptions.signal?.addEventListener("abort", abort, { once: true });
        if (runOptions.signal?.aborted) abort();
      }),
    close: async () => {
      isClosed = true;
      const open = channel;
      if (open === null || client.failure !== null) return;
      await new Promise<void>((resolve) => {
        client.close(open);
        channel = null;
        client.replace(open, {
          onFrame: (frame) => {
            if (frame.type !== FRAME.exit) return;
            client.close(open);
            resolve();
          },
          onEnd: () => resolve(),
        });
        client.send(open, FRAME.cancel, 0, new Uint8Array());
      });
    },
  };
}

function encodeRun(command: string, options: ShellRunOptions, random: Uint8Array): Buffer {
  const token = Buffer.from(random).toString("hex");
  const head = Buffer.alloc(16);
  head.writeUInt32LE(Math.max(1, Math.min(0xffff_ffff, Math.ceil(options.timeoutMs))), 0);
  head.writeUInt32LE(KILL_GRACE_MS, 4);
  head.writeBigUInt64LE(BigInt(options.outputBytesMax), 8);
  /* One line of the shell's script. The words are quoted once, so a syntax error in the command stays in the eval. */
  const quoted = `'${command.replaceAll("'", `'\\''`)}'`;
  const line = `builtin eval ${quoted} </dev/null ${REPORT_FD}>&-; builtin printf '${token} %s\\n' "$?" >&${REPORT_FD}\n`;
  return Buffer.concat([head, Buffer.from(token + line, "utf8")]);
}

function ended(verdict: ShellResult["verdict"], exitCode: number | null): Omit<ShellResult, "output"> {
  return {
    verdict,
    exitCode,
    outputBytesTruncated: 0,
    timedOut: false,
    oomKilled: false,
    durationMs: 0,
    restarted: false,
  };
}

/** The shell lives on. */
function fromDone(payload: Buffer): Omit<ShellResult, "output"> {
  const flags = payload.readUInt32LE(4);
  const timedOut = (flags & EXIT_FLAG.timedOut) !== 0;
  const oomKilled = (flags & EXIT_FLAG.oomKilled) !== 0;
  const exitCode = payload.readUInt32LE(0);
  /* Bash reports a child ended by SIGKILL as 137; only together with the kernel's counter is that an OOM kill. */
  const verdict = timedOut ? "timed_out" : oomKilled && exitCode === 137 ? "oom_killed" : "exited";
  return {
    verdict,
    exitCode: timedOut ? null : exitCode,
    outputBytesTruncated: Number(payload.readBigUInt64LE(8)),
    timedOut,
    oomKilled,
    durationMs: Number(payload.readBigUInt64LE(16)) / 1000,
    restarted: false,
  };
}

/** The shell itself ended, by `exit`, a signal, a timeout or a cancellation. */
function fromExit(payload: Buffer): Omit<ShellResult, "output"> {
  const exit = decodeExit(payload);
  const timedOut = (exit.flags & EXIT_FLAG.timedOut) !== 0;
  const oomKilled = (exit.flags & EXIT_FLAG.oomKilled) !== 0;
  const isCancelled = (exit.flags & EXIT_FLAG.cancelled) !== 0;
  const verdict = isCancelled
    ? "cancelled"
    : timedOut
      ? "timed_out"
      : oomKilled && exit.how === "signalled"
        ? "oom_killed"
        : exit.how;
  return {
    verdict,
    exitCode: verdict === "exited" ? exit.code : null,
    outputBytesTruncated: exit.stdoutBytesDropped,
    timedOut,
    oomKilled,
    durationMs: exit.durationMs,
    restarted: true,
  };
}
