/**
 * The books of what an agent has used and has left: turns, sampled tokens, time. Every limit that can end an episode is
 * kept here, so that what the policy is told and what stops it are the same numbers.
 *
 * Time waited for an endpoint beyond its objective, for a sandbox, or for a queue is not charged to the agent.
 */
import type { LimitsLeft } from "../core/environment.ts";
import type { Runtime } from "../core/runtime.ts";
import type { TaskLimits } from "../core/task.ts";

/** Milliseconds of one model call that are the agent's; beyond it the endpoint is slow, not the agent. */
export const ENDPOINT_OBJECTIVE_MS = 120_000;

export interface ActDeadline {
  readonly ms: number;
  /** Who answers when it passes: the agent's clock, or the endpoint that used up the episode. */
  readonly fault: "agent" | "endpoint";
}

export class Limits {
  readonly #limits: TaskLimits;
  readonly #runtime: Runtime;
  readonly #startedAt: number;
  readonly #objectiveMs: number;
  #turns = 0;
  #tokens = 0;
  #chargedMs = 0;

  /** `objectiveMs` is what of one model call may be the agent's own. */
  constructor(limits: TaskLimits, runtime: Runtime, objectiveMs = ENDPOINT_OBJECTIVE_MS) {
    this.#limits = limits;
    this.#runtime = runtime;
    this.#objectiveMs = objectiveMs;
    this.#startedAt = runtime.monotonic();
  }

  takeTurn(sampledTokens: number): void {
    this.#turns += 1;
    this.#tokens += sampledTokens;
  }

  chargeModel(ms: number): void {
    this.#chargedMs += Math.min(ms, this.#objectiveMs);
  }

  chargeTool(ms: number): void {
    this.#chargedMs += ms;
  }

  /** Never below zero. */
  left(): LimitsLeft {
    return {
      turns: Math.max(0, this.#limits.turnsMax - this.#turns),
      tokens: Math.max(0, this.#limits.tokensMax - this.#tokens),
      agentMs: Math.max(0, Math.floor(Math.min(this.#agentMsLeft(), this.#episodeMsLeft()))),
    };
  }

  /** Whether more was sampled than the task allows; exactly as much is allowed. */
  get isOverTokens(): boolean {
    return this.#tokens > this.#limits.tokensMax;
  }

  /** How long the next model call may take, and whose fault it is when that passes. */
  actDeadline(): ActDeadline {
    const agentMs = this.#agentMsLeft();
    const episodeMs = this.#episodeMsLeft();
    if (agentMs <= Math.min(this.#objectiveMs, episodeMs)) return { ms: Math.max(0, agentMs), fault: "agent" };
    return { ms: Math.max(0, episodeMs), fault: episodeMs > this.#objectiveMs ? "endpoint" : "agent" };
  }

  #agentMsLeft(): number {
    return this.#limits.agentMs - this.#chargedMs;
  }

  /** What the whole episode leaves to acting: its deadline less the time grading needs, at most half of it. */
  #episodeMsLeft(): number {
    const reserveMs = Math.min(this.#limits.gradeMs, this.#limits.episodeMs / 2);
    return this.#limits.episodeMs - reserveMs - (this.#runtime.monotonic() - this.#startedAt);
  }
}
