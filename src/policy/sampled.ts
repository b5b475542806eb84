/**
 * A policy over any sampler: renders the state to token ids, samples a turn, parses it. It keeps ids, log-probabilities
 * and version exactly as sampled. Each turn is a request of its own; the sampler decodes concurrent ones together.
 */
import type { Action, State } from "../core/environment.ts";
import { Failure } from "../core/errors.ts";
import type { ActContext, Policy, TokenRenderer } from "../core/policy.ts";
import type { PolicySampler, PolicySnapshot, SampleRequest } from "../core/policy-backend.ts";
import { deriveSeed } from "../core/random.ts";

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
}

export function sampledPolicy(options: SampledPolicyOptions): Policy {
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
    act: (state, context) => act(options, state, context),
  };
}

async function act(options: SampledPolicyOptions, state: State, context: ActContext): Promise<Action> {
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
  const [sample] = await options.sampler.sample(options.snapshot(), [request], context.signal);
  if (sample === undefined) throw new Failure("policy_mismatch", "The sampler left a request unanswered.");
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
