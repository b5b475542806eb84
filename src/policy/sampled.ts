/**
 * A policy over any sampler: renders the state to token ids, samples a turn, parses it. It keeps ids, log-probabilities
 * and version exactly as sampled. Concurrent episodes share one call of the sampler, so that a batch forms by itself.
 */
import type { Action, State } from "../core/environment.ts";
import { Failure } from "../core/errors.ts";
import type { ActContext, Policy, TokenRenderer } from "../core/policy.ts";
import type { PolicySampler, PolicySnapshot, SampleRequest, SampleResult } from "../core/policy-backend.ts";
import { deriveSeed } from "../core/random.ts";
import type { Runtime } from "../core/runtime.ts";

const BATCH_MAX = 128;

export interface SampledPolicyOptions {
  readonly sampler: PolicySampler;
  /** The weights to sample from now; asked once a turn. */
  readonly snapshot: () => PolicySnapshot;
  readonly renderer: TokenRenderer;
  /** 0 means greedy. */
  readonly temperature: number;
  /** Most tokens of one turn. */
  readonly tokensMax: number;
  /** Most tokens of prompt and turn together. */
  readonly contextMax: number;
  readonly name: string;
  /** As recorded; default `embedded`. */
  readonly backend?: string;
  readonly runtime: Runtime;
  /** Most requests of one call of the sampler; default 128. */
  readonly batchMax?: number;
}

export function sampledPolicy(options: SampledPolicyOptions): Policy {
  const batcher = new Batcher(options);
  return {
    describe: {
      name: options.name,
      backend: options.backend ?? "embedded",
      sampling: {
        temperature: options.temperature,
        topP: 1,
        topK: 0,
        tokensMax: options.tokensMax,
        logprobs: "processed",
      },
    },
    get version() {
      return options.snapshot().version;
    },
    act: (state, context) => act(options, batcher, state, context),
  };
}

async function act(
  options: SampledPolicyOptions,
  batcher: Batcher,
  state: State,
  context: ActContext,
): Promise<Action> {
  const { renderer, temperature } = options;
  const promptIds = renderer.prompt(state);
  const room = options.contextMax - promptIds.length;
  const wanted = Math.min(options.tokensMax, state.limitsLeft.tokens);
  const tokensMax = Math.min(wanted, room);
  if (tokensMax < 1) return cut(room < 1 ? "context_limit" : "token_limit");
  const request: SampleRequest = {
    promptIds,
    tokensMax,
    stopIds: renderer.stopIds,
    temperature,
    // Each turn draws from a stream of its own, so turns do not repeat each other's luck.
    seed: state.turn === 0 ? context.seed : deriveSeed(context.seed, state.turn),
  };
  const sample = await batcher.sample(options.snapshot(), request, context.signal);
  const parsed = renderer.parse(sample.ids);
  const isCut = sample.stopReason === "length";
  return {
    ...parsed,
    tokens: { promptIds, ids: sample.ids, logprobs: sample.logprobs, temperature, policyVersion: sample.policyVersion },
    raw: null,
    sampledTokens: sample.ids.length,
    stopReason: isCut ? (room < wanted ? "context_limit" : "token_limit") : null,
  };
}

/** No token could be sampled any more. */
function cut(stopReason: "context_limit" | "token_limit"): Action {
  return { calls: [], text: "", tokens: null, raw: null, sampledTokens: 0, stopReason };
}

interface Waiting {
  readonly snapshot: PolicySnapshot;
  readonly request: SampleRequest;
  readonly signal: AbortSignal;
  readonly resolve: (result: SampleResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Gathers requests while the sampler is busy and sends them together; requests of different weights never mix. */
class Batcher {
  readonly #options: SampledPolicyOptions;
  readonly #queue: Waiting[] = [];
  #isBusy = false;

  constructor(options: SampledPolicyOptions) {
    this.#options = options;
  }

  sample(snapshot: PolicySnapshot, request: SampleRequest, signal: AbortSignal): Promise<SampleResult> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new Failure("cancelled", "The turn was given up.", { cause: signal.reason }));
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      const settle =
        <T>(use: (value: T) => void) =>
        (value: T): void => {
          signal.removeEventListener("abort", giveUp);
          use(value);
        };
      this.#queue.push({ snapshot, request, signal, resolve: settle(resolve), reject: settle(reject) });
      if (!this.#isBusy) {
        this.#isBusy = true;
        void this.#drain();
      }
    });
  }

  async #drain(): Promise<void> {
    // One turn of the event loop, so that episodes which start together are sampled together.
    await this.#options.runtime.sleep(0);
    for (;;) {
      const batch = this.#take();
      if (batch.length === 0) break;
      await this.#send(batch);
    }
    this.#isBusy = false;
  }

  /** The oldest requests of one snapshot; those given up meanwhile are dropped. */
  #take(): Waiting[] {
    const alive = this.#queue.filter((waiting) => !waiting.signal.aborted);
    const batchMax = this.#options.batchMax ?? BATCH_MAX;
    const batch = alive.filter((waiting) => waiting.snapshot.id === alive[0]?.snapshot.id).slice(0, batchMax);
    const taken = new Set(batch);
    this.#queue.splice(0, this.#queue.length, ...alive.filter((waiting) => !taken.has(waiting)));
    return batch;
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    try {
      const everyoneGaveUp = new AbortController();
      const check = (): void => {
        if (batch.every((waiting) => waiting.signal.aborted)) everyoneGaveUp.abort();
      };
      for (const waiting of batch) waiting.signal.addEventListener("abort", check, { once: true });
      const requests = batch.map((waiting) => waiting.request);
      const results = await this.#options.sampler.sample(first.snapshot, requests, everyoneGaveUp.signal);
      for (const waiting of batch) waiting.signal.removeEventListener("abort", check);
      for (const [index, waiting] of batch.entries()) {
        const result = results[index];
        if (result === undefined)
          waiting.reject(new Failure("policy_mismatch", "The sampler left a request unanswered."));
        else waiting.resolve(result);
      }
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }
}
