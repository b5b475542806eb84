/**
 * One job of the agent, a command or a file operation, while it runs: feeds its input, collects its capped output and
 * returns credit for it as it is taken, and settles with its end. A second clock here catches an agent that does not
 * answer.
 */
import { constants } from "node:os";
import { Failure } from "../core/errors.ts";
import type { ExecOptions, ExecResult, ProcessSignal, SandboxProcess, TerminalSize } from "../core/exec.ts";
import type { AgentClient } from "./agent-client.ts";
import { refuseBadTerminal } from "./command-bounds.ts";
import type { CommandContext } from "./command-context.ts";
import { execResult, startFailed } from "./exec-result.ts";
import { decodeExit, type ExecFrame, encodeExec, FRAME, type Frame } from "./frames.ts";
import { InputFeed } from "./input-feed.ts";
import { KeptOutput } from "./kept-output.ts";

/** The agent enforces every deadline; this much later its silence means that the sandbox is lost. */
const AGENT_LATE_MS = 500;
/** The agent waits this long for a killed tree to leave the kernel. */
const TREE_GONE_MS = 2_000;
const TIMER_MS_MAX = 2_147_483_647;
const REQUEST_BYTES_MAX = 4 << 20;
/** A stream starts with four times this; returned in such portions, a short output costs no frame. */
const CREDIT_BYTES = 65_536;
const NOTHING = new Uint8Array();

/** As a command's `onOutput`; its credit is returned when what it gives has settled, so a slow reader holds the job up. */
export type TakeOutput = (stream: "stdout" | "stderr", bytes: Uint8Array) => void | Promise<void>;

/** With `keepsOutput` false the result has no output; it was told to `onOutput` alone. */
export function startJob(
  context: CommandContext,
  frame: ExecFrame,
  options: ExecOptions,
  keepsOutput = true,
): RunningJob | EndedJob {
  const texts = [frame.cwd, ...frame.argv, ...Object.keys(frame.envVars), ...Object.values(frame.envVars)];
  if (frame.argv.length === 0 || texts.some((text) => text.includes("\0")))
    return new EndedJob(startFailed("not_found"), options);
  const request = encodeExec(frame);
  if (request.length > REQUEST_BYTES_MAX) return new EndedJob(startFailed("too_long"), options);
  if (options.signal?.aborted) return new EndedJob({ ...startFailed(null), verdict: "cancelled" }, options);
  return new RunningJob(context, frame, request, options, keepsOutput);
}

/** A job that was refused before it was sent. */
export class EndedJob implements SandboxProcess {
  readonly id = "0";
  readonly result: Promise<ExecResult>;

  readonly #options: ExecOptions;

  constructor(result: ExecResult, options: ExecOptions) {
    this.result = Promise.resolve(result);
    this.#options = options;
  }

  readonly write = async (): Promise<void> => refuseNoInput(this.#options);
  readonly closeInput = (): void => refuseNoInput(this.#options);
  readonly kill = (): void => undefined;
  readonly resize = (): void => undefined;
}

function refuseNoInput({ input }: ExecOptions): void {
  if (input !== "open")
    throw new Failure("request_invalid", 'This command has no open input; start it with input "open".');
}

/** A job the agent has been sent. Each method throws as `SandboxProcess` says. */
export class RunningJob implements SandboxProcess {
  readonly id: string;
  readonly result: Promise<ExecResult>;
  readonly #client: AgentClient;
  readonly #options: ExecOptions;
  readonly #keepsOutput: boolean;
  readonly #channel: number;
  readonly #feeds = new Map<number, InputFeed>();
  readonly #output = new KeptOutput();
  readonly #listeners = new Set<TakeOutput>();
  readonly #taken = new Map<number, number>();
  #cancelLate: () => void;
  #resolve: (result: ExecResult) => void = () => undefined;
  #reject: (failure: Failure) => void = () => undefined;
  #isSettled = false;

  constructor(context: CommandContext, frame: ExecFrame, request: Buffer, options: ExecOptions, keepsOutput: boolean) {
    const { client, runtime } = context;
    this.#client = client;
    this.#options = options;
    this.#keepsOutput = keepsOutput;
    if (options.onOutput !== undefined) this.#listeners.add(options.onOutput);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    /* A caller that only ever kills its process must not be ended by the sandbox's loss. */
    this.result.catch(() => undefined);
    this.#channel = client.open({
      onFrame: (received) => this.#receive(received),
      onEnd: (failure) => this.#settle(failure, () => this.#reject(failure)),
    });
    this.id = String(this.#channel);
    const lateMs = Math.min(TIMER_MS_MAX, frame.timeoutMs + frame.killGraceMs + TREE_GONE_MS);
    /* Once more after a turn of the loop: a process that was busy itself has the answer waiting. */
    this.#cancelLate = runtime.timer(lateMs, () => {
      this.#cancelLate = runtime.timer(AGENT_LATE_MS, () => context.kill());
    });
    options.signal?.addEventListener("abort", this.#abort, { once: true });
    client.sendRequest(this.#channel, FRAME.exec, request);
    this.#feedInputs();
  }

  /* Own properties, so that a copy of the object still has them. */
  readonly write = async (bytes: Uint8Array): Promise<void> => {
    const feed = this.#openInput();
    if (feed.isEnded) throw new Failure("request_invalid", "The input of this command was closed.");
    if (this.#client.failure !== null) throw this.#client.failure;
    await feed.write(bytes);
  };

  readonly closeInput = (): void => this.#openInput().end();

  readonly kill = (signal: ProcessSignal): void =>
    this.#client.send(this.#channel, FRAME.signal, constants.signals[signal], NOTHING);

  readonly resize = (size: TerminalSize): void => {
    refuseBadTerminal(size);
    const payload = Buffer.alloc(8);
    payload.writeUInt32LE(size.columns, 0);
    payload.writeUInt32LE(size.rows, 4);
    this.#client.send(this.#channel, FRAME.resize, 0, payload);
  };

  /** Tells what is kept of the output so far, then what comes. */
  listen(onOutput: TakeOutput): void {
    for (const { stream, bytes } of this.#output.pieces) void onOutput(stream === 1 ? "stdout" : "stderr", bytes);
    if (!this.#isSettled) this.#listeners.add(onOutput);
  }

  /** Bytes of output that are kept. */
  get keptBytes(): number {
    return this.#output.bytes;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  readonly #abort = (): void => this.#client.send(this.#channel, FRAME.cancel, 0, NOTHING);

  #openInput(): InputFeed {
    const feed = this.#feeds.get(0);
    refuseNoInput(this.#options);
    if (feed === undefined) throw new Failure("unexpected", "A command with an open input has no feed for it.");
    return feed;
  }

  #feedInputs(): void {
    const { input, pipes } = this.#options;
    if (input === "open") this.#feed(0);
    else if (input !== undefined) void this.#feed(0).pump(input);
    for (const pipe of pipes ?? [])
      if (pipe.input !== undefined || pipe.onBytes === undefined) void this.#feed(pipe.fd).pump(pipe.input ?? NOTHING);
  }

  #feed(fd: number): InputFeed {
    const feed = new InputFeed((bytes) => this.#client.send(this.#channel, FRAME.input, fd, bytes));
    this.#feeds.set(fd, feed);
    return feed;
  }

  #receive(frame: Frame): void {
    if (frame.type === FRAME.output) {
      this.#take(frame.flags, Buffer.from(frame.payload));
    } else if (frame.type === FRAME.credit) {
      this.#feeds.get(frame.flags)?.credit(frame.payload.readUInt32LE(0));
    } else if (frame.type === FRAME.exit) {
      const exit = decodeExit(frame.payload);
      const result = execResult(exit, this.#output.of(1), this.#output.of(2));
      this.#settle(null, () => this.#resolve(result));
    }
  }

  #take(stream: number, bytes: Buffer): void {
    const waits: Promise<void>[] = [];
    if (stream === 1 || stream === 2) {
      if (this.#keepsOutput) this.#output.add(stream, bytes);
      for (const listener of this.#listeners) {
        const taken = listener(stream === 1 ? "stdout" : "stderr", bytes);
        if (taken instanceof Promise) waits.push(taken);
      }
    } else {
      this.#options.pipes?.find((pipe) => pipe.fd === stream)?.onBytes?.(bytes);
    }
    const credit = (): void => this.#returnCredit(stream, bytes.length);
    if (waits.length === 0) credit();
    else void Promise.allSettled(waits).then(credit);
  }

  #returnCredit(stream: number, bytes: number): void {
    const taken = (this.#taken.get(stream) ?? 0) + bytes;
    const isDue = taken >= CREDIT_BYTES && !this.#isSettled;
    this.#taken.set(stream, isDue ? 0 : taken);
    if (isDue) this.#client.sendCredit(this.#channel, stream, taken);
  }

  #settle(failure: Failure | null, finish: () => void): void {
    this.#isSettled = true;
    this.#cancelLate();
    this.#client.close(this.#channel);
    this.#options.signal?.removeEventListener("abort", this.#abort);
    for (const feed of this.#feeds.values()) feed.stop(failure);
    this.#listeners.clear();
    finish();
  }
}
