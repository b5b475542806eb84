/**
 * Runs the tool calls of one action, in order, and says what the policy perceives of each. The policy's mistakes are
 * observations here: unknown tool, bad arguments, too many calls, no call at all. They never throw; enough of them in a
 * row stop the episode. What throws is the sandbox.
 */
import type { Action, Observation, Tool, ToolCall, ToolContext, ToolResult, ToolSession } from "../core/environment.ts";
import { Failure } from "../core/errors.ts";
import type { StopReason } from "../core/outcome.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { Task } from "../core/task.ts";
import type { ActingSandbox } from "./acting-sandbox.ts";
import type { Limits } from "./limits.ts";
import { observe } from "./observation.ts";

const CALLS_MAX = 16;
const INVALID_ACTIONS_MAX = 5;
const REPETITIONS_MAX = 8;
/** What one call may bring into the record; the policy is shown less. */
const OUTPUT_BYTES_MAX = 1024 * 1024;
/** Where the policy finds the whole of an output that was cut for it. */
const OUTPUT_FOLDER = "/run/sandlot/output";

export interface ExecutorOptions {
  readonly task: Task;
  readonly tools: readonly Tool[];
  readonly limits: Limits;
  readonly sandbox: ActingSandbox;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

export interface Executed {
  /** `submitted` or a policy fault; null when the agent may go on. */
  readonly stopReason: StopReason | null;
  readonly answer: string | null;
}

/** Holds what lasts from turn to turn: open tools, and how often the policy has gone wrong in a row. */
export class ActionExecutor {
  readonly #options: ExecutorOptions;
  readonly #sessions = new Map<string, ToolSession>();
  #invalidActions = 0;
  #repetitions = 0;
  #lastCall = "";
  #isOomSeen = false;
  /** Whole output of the current turn that was cut, as the policy may read it. */
  #spill: Uint8Array[] = [];

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** True once a command met the memory limit of the agent's own group. */
  get isOomSeen(): boolean {
    return this.#isOomSeen;
  }

  /** Appends to `observations` as it goes, so that a turn that fails half-way shows how far it came. */
  async execute(turn: number, action: Action, observations: Observation[]): Promise<Executed> {
    this.#spill = [];
    let bytesLeft = this.#options.task.limits.outputBytesPerTurn;
    let isAnyValid = false;
    for (const [index, call] of action.calls.entries()) {
      const started = this.#options.runtime.monotonic();
      const bootMs = this.#notCharged();
      const result =
        index < CALLS_MAX ? await this.#call(call) : invalid(`Not run: at most ${CALLS_MAX} calls an action.`);
      const durationMs = Math.max(0, this.#options.runtime.monotonic() - started - (this.#notCharged() - bootMs));
      this.#options.limits.chargeTool(durationMs);
      const observation = this.#observe(call, result, durationMs, bytesLeft);
      observations.push(observation);
      this.#throwIfAborted();
      bytesLeft = Math.max(0, bytesLeft - (observation.rawBytes - observation.bytesLeftOut));
      if (observation.bytesLeftOut > 0) await this.#keepWhole(turn, result.output);
      if (!result.isInvalid) isAnyValid = true;
      if (result.oomKilled) this.#isOomSeen = true;
      if (result.submitted !== null) return { stopReason: "submitted", answer: result.submitted.answer };
      if (this.#isRepetition(call, result)) return { stopReason: "repetition_limit", answer: null };
      if (this.#options.limits.left().agentMs === 0) return { stopReason: "time_limit", answer: null };
    }
    if (action.calls.length === 0) observations.push(this.#observeNoCall(bytesLeft));
    this.#invalidActions = isAnyValid ? 0 : this.#invalidActions + 1;
    return { stopReason: this.#invalidActions >= INVALID_ACTIONS_MAX ? "invalid_calls" : null, answer: null };
  }

  /** Closes every open tool. Idempotent; a tool whose sandbox is gone has nothing to close. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.allSettled(sessions.map((session) => session.close()));
  }

  async #call(call: ToolCall): Promise<ToolResult> {
    const tool = this.#options.tools.find((candidate) => candidate.name === call.name);
    if (tool === undefined) return invalid(this.#unknownTool(call.name));
    if (call.arguments === null) {
      return invalid(`The arguments of ${call.name} could not be read: ${call.parseError ?? "no JSON object"}.`);
    }
    let session = this.#sessions.get(tool.name);
    if (session === undefined) {
      session = tool.open(() => this.#context());
      this.#sessions.set(tool.name, session);
    }
    return session.call(call.arguments);
  }

  #unknownTool(name: string): string {
    const known = this.#options.tools.map((tool) => tool.name).join(", ");
    return `There is no tool named ${JSON.stringify(name.slice(0, 100))}. The tools are: ${known}.`;
  }

  #context(): ToolContext {
    const { task, limits, sandbox, signal } = this.#options;
    return {
      sandbox: (): Promise<Sandbox> => sandbox.claim(),
      timeoutMs: Math.max(1, Math.min(task.limits.commandMs, limits.left().agentMs)),
      outputBytesMax: OUTPUT_BYTES_MAX,
      signal,
      workdir: task.workdir,
      user: task.agentUser,
      envVars: task.envVars,
    };
  }

  /** Time spent on claiming and preparing the sandbox so far; the agent does not pay for it. */
  #notCharged(): number {
    return this.#options.sandbox.bootMs + this.#options.sandbox.setupMs;
  }

  #observe(call: ToolCall, result: ToolResult, durationMs: number, bytesMax: number): Observation {
    const left = this.#options.limits.left();
    return observe({ call, result, durationMs, bytesMax, left, isDeadlineShown: this.#options.task.isDeadlineShown });
  }

  #observeNoCall(bytesLeft: number): Observation {
    const call = { id: "", name: "", argumentsRaw: "", arguments: null, parseError: null };
    const known = this.#options.tools.map((tool) => tool.name).join(", ");
    return this.#observe(call, invalid(`No tool was called. The tools are: ${known}.`), 0, bytesLeft);
  }

  #isRepetition(call: ToolCall, result: ToolResult): boolean {
    const output = Buffer.from(result.output).toString("base64");
    const now = JSON.stringify([call.name, call.argumentsRaw, result.exitCode, output]);
    this.#repetitions = now === this.#lastCall ? this.#repetitions + 1 : 1;
    this.#lastCall = now;
    return this.#repetitions >= REPETITIONS_MAX;
  }

  /** Best effort: a disk the agent has filled costs the agent this file, not the episode. */
  async #keepWhole(turn: number, output: Uint8Array): Promise<void> {
    if (!this.#options.sandbox.isClaimed) return;
    this.#spill.push(output);
    const sandbox = await this.#options.sandbox.claim();
    const path = `${OUTPUT_FOLDER}/${turn}`;
    await sandbox.files.write({ path, bytes: Buffer.concat(this.#spill), mode: 0o644 });
  }

  #throwIfAborted(): void {
    const { signal } = this.#options;
    if (signal.aborted)
      throw new Failure("cancelled", "The episode was stopped during a call.", { cause: signal.reason });
  }
}

/** The policy's mistake, as the result of its call. */
function invalid(message: string): ToolResult {
  return {
    output: new TextEncoder().encode(message),
    outputBytesTruncated: 0,
    exitCode: null,
    timedOut: false,
    oomKilled: false,
    isInvalid: true,
    submitted: null,
  };
}
