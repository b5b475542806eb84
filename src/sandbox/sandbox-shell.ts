/**
 * A kept shell: one bash that lives from run to run. The end of each command is reported on a descriptor of its own with
 * a token made for that run (`native/helper/shell.c`), so nothing a command prints can be taken for its end.
 */
import { Failure } from "../core/errors.ts";
import type { Shell, ShellOptions, ShellResult, ShellRunOptions } from "../core/exec.ts";
import { refuseBadBounds } from "./command-bounds.ts";
import type { CommandContext } from "./command-context.ts";
import { decodeExit, EXIT_FLAG, encodeExec, FRAME, type Frame, JOB } from "./frames.ts";
import { KeptOutput } from "./kept-output.ts";
import { commandEnvVars, sandboxUser } from "./run-command.ts";

const REPORT_FD = 201;
/** Standard error is the same pipe. */
const OUTPUT = 1;
const KILL_GRACE_MS = 200;
/** After a timeout the agent may still try to keep the shell, then waits for the killed tree. */
const AGENT_LATE_MS = 3_000;
/** Longer timers would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;
/** Output of background children between two runs, given to the next run. */
const BETWEEN_RUNS_BYTES_MAX = 65_536;
const CREDIT_BYTES = 65_536;

interface Run {
  readonly options: ShellRunOptions;
  readonly resolve: (result: ShellResult) => void;
  readonly reject: (failure: Failure) => void;
  readonly cleanUp: () => void;
  readonly output: KeptOutput;
}

/** The bash is started by the first run. */
export function keptShell(context: CommandContext, options: ShellOptions): Shell {
  return new KeptShell(context, options);
}

class KeptShell implements Shell {
  readonly #context: CommandContext;
  readonly #options: ShellOptions;
  /** The agent's channel of the live bash, or null when the next run must start one. */
  #channel: number | null = null;
  #run: Run | null = null;
  #between = new KeptOutput();
  /** Bytes of output whose credit was not returned yet. */
  #taken = 0;
  #isClosed = false;

  constructor(context: CommandContext, options: ShellOptions) {
    this.#context = context;
    this.#options = options;
  }

  async run(command: string, options: ShellRunOptions): Promise<ShellResult> {
    if (this.#isClosed) throw new Failure("sandbox_busy", "This shell was closed.");
    if (this.#run !== null) throw new Failure("sandbox_busy", "A kept shell runs one command at a time.");
    const { timeoutMs, outputBytesMax } = options;
    refuseBadBounds({ timeoutMs, outputBytesMax });
    if (command.includes("\0"))
      return { ...ended("start_failed", null), output: Buffer.from("the command holds a NUL byte\n") };
    if (options.signal?.aborted) return { ...ended("cancelled", null), output: new Uint8Array() };
    const { client, runtime, kill } = this.#context;
    const channel = this.#ensureBash();
    return new Promise((resolve, reject) => {
      const abort = (): void => client.send(channel, FRAME.cancel, 0, new Uint8Array());
      const cancelLate = runtime.timer(Math.min(TIMER_MS_MAX, timeoutMs + KILL_GRACE_MS + AGENT_LATE_MS), kill);
      const cleanUp = (): void => {
        cancelLate();
        options.signal?.removeEventListener("abort", abort);
      };
      this.#run = { options, resolve, reject, cleanUp, output: this.#between };
      this.#between = new KeptOutput();
      client.sendRequest(channel, FRAME.shellRun, encodeRun(command, options, runtime.randomBytes(8)));
      options.signal?.addEventListener("abort", abort, { once: true });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const { client } = this.#context;
    const channel = this.#channel;
    if (channel === null || client.failure !== null) return;
    this.#channel = null;
    await new Promise<void>((resolve) => {
      client.replace(channel, {
        onFrame: (frame) => {
          if (frame.type !== FRAME.exit) return;
          client.close(channel);
          if (this.#run !== null) this.#finish(fromExit(frame.payload));
          resolve();
        },
        onEnd: (failure) => {
          this.#abandon(failure);
          resolve();
        },
      });
      client.send(channel, FRAME.cancel, 0, new Uint8Array());
    });
  }

  #ensureBash(): number {
    if (this.#channel !== null) return this.#channel;
    const { client, envVars } = this.#context;
    const user = sandboxUser(this.#options.user, this.#context);
    const channel = client.open({
      onFrame: (frame) => this.#receive(frame),
      onEnd: (failure) => this.#abandon(failure),
    });
    this.#channel = channel;
    this.#taken = 0;
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
      cwd: this.#options.cwd ?? this.#context.workdir ?? user.home,
      argv: ["/bin/bash", "--noprofile", "--norc", "-s"],
      envVars: commandEnvVars(user.home, envVars, this.#options.envVars),
    };
    client.sendRequest(channel, FRAME.exec, encodeExec(frame));
    return channel;
  }

  #receive(frame: Frame): void {
    if (frame.type === FRAME.output) {
      (this.#run?.output ?? this.#between).add(OUTPUT, Buffer.from(frame.payload));
      this.#returnCredit(frame.flags, frame.payload.length);
    } else if (frame.type === FRAME.shellDone) {
      this.#finish(fromDone(frame.payload));
    } else if (frame.type === FRAME.exit) {
      if (this.#channel !== null) this.#context.client.close(this.#channel);
      this.#channel = null;
      this.#finish(fromExit(frame.payload));
    }
  }

  /** In portions, so that a short output costs no frame; what is held back is far below what the agent may send ahead. */
  #returnCredit(stream: number, bytes: number): void {
    this.#taken += bytes;
    if (this.#channel === null || this.#taken < CREDIT_BYTES) return;
    this.#context.client.sendCredit(this.#channel, stream, this.#taken);
    this.#taken = 0;
  }

  #finish(result: Omit<ShellResult, "output">): void {
    const run = this.#run;
    if (run === null) return;
    this.#run = null;
    run.cleanUp();
    const all = run.output.of(OUTPUT);
    /* The agent caps each run; what a background child wrote before it comes on top and is cut here. */
    const max = run.options.outputBytesMax;
    const cut = Math.max(0, all.length - max);
    run.resolve({ ...result, output: all.subarray(0, max), outputBytesTruncated: result.outputBytesTruncated + cut });
  }

  #abandon(failure: Failure): void {
    const run = this.#run;
    this.#channel = null;
    this.#run = null;
    run?.cleanUp();
    run?.reject(failure);
  }
}

function encodeRun(command: string, options: ShellRunOptions, random: Uint8Array): Buffer {
  const token = Buffer.from(random).toString("hex");
  const head = Buffer.alloc(16);
  head.writeUInt32LE(Math.max(1, Math.min(0xffff_ffff, Math.ceil(options.timeoutMs))), 0);
  head.writeUInt32LE(KILL_GRACE_MS, 4);
  head.writeBigUInt64LE(BigInt(Math.floor(options.outputBytesMax)), 8);
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
