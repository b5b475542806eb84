/**
 * The environment: task, sandbox and tools as a policy meets them, in five calls, reset → execute → next → verify →
 * close. It knows no policy. It keeps the log of every turn, from which the record of an episode is built; a turn that
 * fails half-way stays in the log as far as it came.
 */
import assert from "node:assert/strict";
import type { Action, Environment, ExecutionResult, Message, Observation, State, Tool } from "../core/environment.ts";
import { Failure, toFailure } from "../core/errors.ts";
import type { Evidence } from "../core/finding.ts";
import type { MilestoneReading } from "../core/milestone.ts";
import { type StopReason, stopCause } from "../core/outcome.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Isolation, Sandbox } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task } from "../core/task.ts";
import type { Phase } from "../core/trajectory.ts";
import type { Artifacts, Verdict } from "../core/verifier.ts";
import { ActingSandbox } from "./acting-sandbox.ts";
import { ActionExecutor } from "./execute-action.ts";
import { artifactsHash, type Collected, freezeAndCollect } from "./freeze-and-collect.ts";
import { type Grader, verdictOfNothing } from "./grade.ts";
import { Limits } from "./limits.ts";
import { readMilestones } from "./milestones.ts";
import { leftText, offersOf } from "./observation.ts";

export interface EnvironmentOptions {
  readonly task: Task;
  readonly pool: SandboxPool;
  readonly grader: Grader;
  readonly tools: readonly Tool[];
  /** Told before the instruction, with the limits; null for a policy that is shown the instruction alone. */
  readonly systemText: string | null;
  readonly runtime: Runtime;
  /** Names this attempt's sandboxes; unique among those alive. Default: a new id. */
  readonly attemptId?: string;
  /** Default 1. */
  readonly fence?: number;
  /** Default 0, or the task's own where it pins one. */
  readonly gradingSeed?: bigint;
  /** Default true. */
  readonly mayReuseVerdict?: boolean;
  /** Placed after the task's own files. */
  readonly extraFiles?: readonly FileContent[];
  /** Default `namespace`. */
  readonly isolationMin?: Isolation;
  /** `turns` keeps the sandbox's own layer after each turn; default `none`. */
  readonly snapshots?: "none" | "turns";
  /** Of one model call, what is charged to the agent at most; default 120,000. */
  readonly endpointObjectiveMs?: number;
  /** Ends whatever runs; then calls throw `cancelled`. */
  readonly signal?: AbortSignal;
}

/** One turn as it happened. `partial` is what an endpoint had answered when its call failed. */
export interface TurnLog {
  readonly action: Action | null;
  readonly partial: string | null;
  readonly observations: readonly Observation[];
  readonly modelMs: number;
  readonly toolMs: number;
  /** The sandbox's own layer after the turn, packed; null unless it was asked for. */
  readonly layer: Uint8Array | null;
  /** Null for a task without milestones, and for a turn that failed half-way. */
  readonly milestones: MilestoneReading | null;
  readonly left: State["limitsLeft"];
}

/** Opens an environment for one task. Nothing is claimed until a call needs it; always `close()` it. */
export function openEnvironment(options: EnvironmentOptions): Environment {
  return new EpisodeEnvironment(options);
}

export class EpisodeEnvironment implements Environment {
  readonly #options: EnvironmentOptions;
  readonly #signal: AbortSignal;
  readonly #limits: Limits;
  readonly #sandbox: ActingSandbox;
  readonly #executor: ActionExecutor;
  readonly #states: State[] = [];
  #gradingSeed: bigint;
  #modelStartedAt: number;
  #closing: Promise<void> | null = null;
  readonly log: TurnLog[] = [];
  readonly timing: Partial<Record<Phase, number>> = {};
  phase: Phase = "model";
  stopReason: StopReason | null = null;
  answer: string | null = null;
  artifacts: Artifacts | null = null;
  verdict: Verdict | null = null;
  closeFailure: Failure | null = null;
  /** What was recorded outside the agent's reach; null until it was collected, and where no sandbox was claimed. */
  evidence: Evidence | null = null;
  /** By the monotonic clock, when each turn began to be executed. */
  readonly #turnStarts: number[] = [];

  constructor(options: EnvironmentOptions) {
    const { task, runtime, tools } = options;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#limits = new Limits(task.limits, runtime, options.endpointObjectiveMs);
    this.#sandbox = new ActingSandbox({
      task,
      runtime,
      pool: options.pool,
      extraFiles: options.extraFiles ?? [],
      attemptId: options.attemptId ?? runtime.id(),
      fence: options.fence ?? 1,
      isolationMin: options.isolationMin ?? "namespace",
      signal: this.#signal,
    });
    const sandbox = this.#sandbox;
    this.#executor = new ActionExecutor({ task, tools, runtime, sandbox, limits: this.#limits, signal: this.#signal });
    this.#gradingSeed = options.gradingSeed ?? (task.gradingSeed === "fresh" ? 0n : task.gradingSeed);
    this.#modelStartedAt = runtime.monotonic();
  }

  /** Turns that were executed to their end. */
  get turnsTaken(): number {
    return this.#states.length - 1;
  }

  /** As they stood after the last turn; null before the first and for a task without any. */
  get milestones(): MilestoneReading | null {
    return this.log.findLast((entry) => entry.milestones !== null)?.milestones ?? null;
  }

  get sandbox(): Pick<ActingSandbox, "info" | "stats" | "curve" | "isClaimed" | "bootMs" | "setupMs"> {
    return this.#sandbox;
  }

  /** Why parts of the evidence are missing; empty when none are. */
  get evidenceProblems(): readonly string[] {
    return this.#sandbox.recorder?.problems ?? [];
  }

  /** What the policy was told before its first turn. */
  get opening(): readonly { readonly role: "system" | "user"; readonly text: string }[] {
    return (this.#states[0]?.messages ?? []).filter((message) => message.role === "system" || message.role === "user");
  }

  get gradingSeed(): bigint {
    return this.#gradingSeed;
  }

  actDeadline() {
    return this.#limits.actDeadline();
  }

  async reset(options: { readonly seed?: bigint }): Promise<State> {
    assert(this.#states.length === 0, "an environment serves one episode; open another one");
    const { task, systemText } = this.#options;
    if (options.seed !== undefined) this.#gradingSeed = options.seed;
    const limits = `Limits: ${leftText(this.#limits.left())}; one command may take ${Math.floor(task.limits.commandMs / 1000)} s.`;
    const state = this.#state([
      ...(systemText === null
        ? []
        : [{ role: "system", text: [systemText, ...offersOf(task), limits].join("\n\n") } as const]),
      { role: "user", text: task.instruction },
    ]);
    this.#states.push(state);
    this.#modelStartedAt = this.#options.runtime.monotonic();
    return state;
  }

  async execute(action: Action): Promise<ExecutionResult> {
    const { runtime } = this.#options;
    const before = this.#states.at(-1);
    assert(before !== undefined && this.#closing === null, "execute comes after reset and before verify and close");
    assert(!before.done, "the episode is over; only verify and close may follow");
    const turn = this.turnsTaken + 1;
    const startedAt = runtime.monotonic();
    this.#turnStarts.push(startedAt);
    const modelMs = startedAt - this.#modelStartedAt;
    this.#limits.chargeModel(modelMs);
    this.#limits.takeTurn(action.sampledTokens);
    const observations: Observation[] = [];
    const preparedMs = this.#preparedMs();
    this.phase = "tool";
    let isDone = false;
    try {
      this.stopReason = await this.#run(turn, action, observations);
      isDone = true;
    } finally {
      const toolMs = runtime.monotonic() - startedAt - (this.#preparedMs() - preparedMs);
      const layer = this.#options.snapshots === "turns" ? await this.#sandbox.packLayer() : null;
      const milestones = isDone ? await this.#readMilestones() : null;
      const left = this.#limits.left();
      this.log.push({ action, partial: null, observations, modelMs, toolMs, layer, milestones, left });
    }
    this.phase = "model";
    const seen = observations.map((observation): Message => ({ role: "tool", observation }));
    this.#states.push(this.#state([...before.messages, { role: "policy", action }, ...seen]));
    this.#modelStartedAt = runtime.monotonic();
    return { turn, action, observations, stopReason: this.stopReason, answer: this.answer };
  }

  next(result: ExecutionResult): State {
    const state = this.#states[result.turn];
    assert(state !== undefined, `turn ${result.turn} was not executed in this environment`);
    return state;
  }

  /** Ends acting without another turn: the policy could not answer within the agent's limits. Keeps its half answer. */
  stop(reason: StopReason, partial: string | null): void {
    this.stopReason = reason;
    this.logPartial(partial);
  }

  /** Keeps what an endpoint had answered when its call failed. */
  logPartial(partial: string | null): void {
    if (partial === null) return;
    const modelMs = this.#options.runtime.monotonic() - this.#modelStartedAt;
    const left = this.#limits.left();
    this.log.push({ action: null, partial, observations: [], modelMs, toolMs: 0, layer: null, milestones: null, left });
  }

  /** After the tools' time was taken, so that looking costs the agent nothing. */
  async #readMilestones(): Promise<MilestoneReading | null> {
    const { task, pool, runtime, attemptId, fence } = this.#options;
    if (task.milestones === undefined) return null;
    const sandbox = this.#sandbox.isClaimed ? await this.#sandbox.claim().catch(() => null) : null;
    return readMilestones({
      spec: task.milestones,
      task,
      before: this.milestones,
      sandbox,
      pool,
      runtime,
      attemptId: `${attemptId ?? runtime.id()}-milestones-${this.turnsTaken + 1}`,
      fence: fence ?? 1,
      signal: this.#signal,
    });
  }

  async verify(): Promise<Verdict> {
    if (this.verdict !== null) return this.verdict;
    assert(this.#states.length > 0 && this.#closing === null, "verify comes after reset and before close");
    const { task, runtime, grader } = this.#options;
    const collectStartedAt = runtime.monotonic() - this.#preparedMs();
    this.phase = "freeze";
    const isFault = this.stopReason !== null && stopCause(this.stopReason) === "policy_fault";
    const collected = await this.#collect(isFault);
    this.artifacts = collected.artifacts;
    // Given back before grading starts: agents that hold the pool while they wait for verifiers would stop each other.
    await this.close();
    const gradeStartedAt = runtime.monotonic();
    this.timing.freeze = gradeStartedAt - this.#preparedMs() - collectStartedAt;
    this.phase = "verify";
    try {
      this.verdict = hasNothingToGrade(task, collected)
        ? verdictOfNothing(task, this.#gradingSeed, `nothing-${collected.artifacts.hash}`)
        : await grader.grade({
            task,
            artifacts: collected.artifacts,
            gradingSeed: this.#gradingSeed,
            attemptId: this.#options.attemptId ?? runtime.id(),
            fence: this.#options.fence ?? 1,
            mayReuse: this.#options.mayReuseVerdict ?? true,
            signal: this.#signal,
          });
    } catch (error) {
      // A policy fault earns 0 whatever its state is worth, so a fault of the verifier takes nothing from it.
      if (!isFault || this.#signal.aborted) throw error;
      this.verdict = verdictOfNothing(task, this.#gradingSeed, `ungraded-${collected.artifacts.hash}`);
    } finally {
      this.timing.verify = runtime.monotonic() - gradeStartedAt;
    }
    return this.verdict;
  }

  /** Never throws: a sandbox that cannot be destroyed is the pool's to chase, and is kept in `closeFailure`. */
  close(): Promise<void> {
    this.#closing ??= this.#executor
      .close()
      .then(() => this.#sandbox.close())
      .catch((error: unknown) => {
        this.closeFailure = toFailure(error);
      });
    return this.#closing;
  }

  async #run(turn: number, action: Action, observations: Observation[]): Promise<StopReason | null> {
    if (action.stopReason !== null) return action.stopReason;
    if (this.#limits.isOverTokens) return "token_limit";
    try {
      const executed = await this.#executor.execute(turn, action, observations);
      this.answer = executed.answer;
      if (executed.stopReason !== null) return executed.stopReason;
    } catch (error) {
      if (toFailure(error).code !== "sandbox_killed") throw error;
      return this.#executor.isOomSeen ? "memory_limit" : "sandbox_killed";
    }
    const left = this.#limits.left();
    if (left.agentMs === 0) return "time_limit";
    if (left.tokens === 0) return "token_limit";
    return left.turns === 0 ? "turn_limit" : null;
  }

  /** Freezes and collects. What the policy itself destroyed is nothing to grade, and its fault. */
  async #collect(isFault: boolean): Promise<Collected> {
    const { task } = this.#options;
    let artifacts: Artifacts | null = null;
    try {
      await this.#sandbox.recorder?.beforeFreeze();
      const sandbox: Sandbox | null = task.contract.state === "answer" ? null : await this.#sandbox.claim();
      const collected = await freezeAndCollect(task.contract, task.workdir, this.answer, sandbox, {
        user: task.agentUser,
        hasVisibleFiles: task.files.some((file) => file.path.startsWith("/visible/")),
        signal: this.#signal,
      });
      if (collected.isOverCaps) this.stopReason = "disk_limit";
      artifacts = collected.artifacts;
      return collected;
    } catch (error) {
      const failure = toFailure(error);
      if (this.#signal.aborted)
        throw new Failure("cancelled", "The episode was stopped while it was collected.", { cause: error });
      if (!isFault && failure.code !== "sandbox_killed") throw failure;
      if (!isFault) this.stopReason = "sandbox_killed";
      return {
        artifacts: { answer: null, files: [], missing: [], hash: artifactsHash(null, [], []) },
        isOverCaps: true,
      };
    } finally {
      if (!this.#signal.aborted)
        this.evidence = (await this.#sandbox.recorder?.capture(artifacts, this.#turnStarts)) ?? null;
    }
  }

  /** Time that making the sandbox ready has taken so far, which is no time of a tool or of the freeze. */
  #preparedMs(): number {
    return this.#sandbox.bootMs + this.#sandbox.setupMs;
  }

  #state(messages: readonly Message[]): State {
    return {
      turn: this.#states.length,
      messages,
      tools: this.#options.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      limitsLeft: this.#limits.left(),
      done: this.stopReason !== null,
      stopReason: this.stopReason,
    };
  }
}

function hasNothingToGrade(task: Task, collected: Collected): boolean {
  if (collected.isOverCaps) return true;
  return task.contract.state === "answer" && collected.artifacts.answer === null;
}
