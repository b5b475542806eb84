/** Actions made by code, not sampled by a model: what scripts, replays and tests hand to the environment. */
import type { Action, ToolCall } from "../core/environment.ts";
import type { Json } from "../core/json.ts";
import type { PolicyDescription } from "../core/policy.ts";

/** A call with good arguments. `index` is its place in the action, from 0. */
export function scriptCall(index: number, name: string, args: Readonly<Record<string, Json>>): ToolCall {
  return { id: `call-${index}`, name, argumentsRaw: JSON.stringify(args), arguments: args, parseError: null };
}

/** An action of these calls that sampled nothing. */
export function scriptAction(calls: readonly ToolCall[], text = ""): Action {
  return { calls, text, tokens: null, raw: null, sampledTokens: 0, stopReason: null };
}

/** A policy that samples nothing has no sampling to describe; its numbers are neutral. */
export function scriptDescription(name: string, backend: string): PolicyDescription {
  return { name, backend, sampling: { temperature: 0, topP: 1, topK: 0, tokensMax: 0, logprobs: null } };
}
