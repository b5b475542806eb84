/**
 * The environment is all that the policy acts in: task + sandbox + tools, seen from the policy, in five calls:
 * reset → (act) → execute → next → verify, then close. The policy's mistakes are observations; they never throw.
 */
import type { Json } from "./json.ts";
import type { StopReason } from "./outcome.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Verdict } from "./verifier.ts";

export interface ToolCall {
  /** The endpoint's own id where it has one, else ours. */
  readonly id: string;
  readonly name: string;
  /** Exactly as sampled; malformed JSON survives here. */
  readonly argumentsRaw: string;
  /** The parsed form; null when `parseError` says why there is none. */
  readonly arguments: Readonly<Record<string, Json>> | null;
  readonly parseError: string | null;
}

/** Token ids and log-probabilities of one sampled turn, aligned: `logprobs[i]` belongs to `ids[i]`, in nats. */
export interface TokenSpan {
  /** Ids the policy was shown: the whole prompt of this turn. */
  readonly promptIds: Int32Array;
  /** Ids the policy sampled, the stop token included if it was sampled. */
  readonly ids: Int32Array;
  readonly logprobs: Float32Array;
  readonly temperature: number;
  readonly policyVersion: number;
}

export interface Action {
  readonly calls: readonly ToolCall[];
  readonly text: string;
  /** Present when the policy samples tokens itself. */
  readonly tokens: TokenSpan | null;
  /** What the endpoint answered, byte for byte; null for policies without an endpoint. */
  readonly raw: string | null;
  /** Tokens sampled in this action, for the token limit. Estimated (and said so in the record) where unknown. */
  readonly sampledTokens: number;
  /** True where `sampledTokens` was estimated from the length of the text, because the endpoint did not say. */
  readonly isSampledTokensEstimated?: boolean;
  /** Set when the policy could not go on: its context is full, or its own sampling limit cut the turn. */
  readonly stopReason: "context_limit" | "token_limit" | null;
}

/** What the policy perceives of one tool call. */
export interface Observation {
  readonly callId: string;
  readonly tool: string;
  /** What the policy was shown: cleaned of control sequences, cut in the middle, limits line last. */
  readonly text: string;
  /** What really came, up to the sandbox's cap. */
  readonly raw: Uint8Array;
  readonly rawBytes: number;
  /** Bytes of `raw` left out of `text`. */
  readonly bytesLeftOut: number;
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly durationMs: number;
  /** True when this call was the policy's mistake: unknown tool, bad arguments. */
  readonly isInvalid: boolean;
}

export interface ExecutionResult {
  readonly turn: number;
  readonly action: Action;
  readonly observations: readonly Observation[];
  /** Set when this action ended the episode. */
  readonly stopReason: StopReason | null;
  /** Text given to `submit`, when there was one. */
  readonly answer: string | null;
}

export interface LimitsLeft {
  readonly turns: number;
  readonly tokens: number;
  readonly agentMs: number;
}

export type Message =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "policy"; readonly action: Action }
  | { readonly role: "tool"; readonly observation: Observation };

export interface State {
  /** Turns taken so far. */
  readonly turn: number;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly limitsLeft: LimitsLeft;
  readonly done: boolean;
  readonly stopReason: StopReason | null;
}

/** A tool as the policy sees it. `parameters` is a JSON Schema object. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, Json>>;
}

/** What a tool may use. The acting sandbox is claimed by the first call that asks for it. */
export interface ToolContext {
  sandbox(): Promise<Sandbox>;
  /** Longest a call may take: the command limit, or what is left of the agent's time. */
  readonly timeoutMs: number;
  /** Most bytes a call may bring back. */
  readonly outputBytesMax: number;
  readonly signal: AbortSignal;
  readonly workdir: string;
  readonly user: string;
  readonly envVars: Readonly<Record<string, string>>;
}

export interface ToolResult {
  readonly output: Uint8Array;
  /** Bytes the sandbox dropped beyond its cap. */
  readonly outputBytesTruncated: number;
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  /** The policy's mistake, described; then `output` holds the description. */
  readonly isInvalid: boolean;
  /** Set by `submit`. */
  readonly submitted: { readonly answer: string | null } | null;
}

export interface Tool extends ToolDefinition {
  /** Opens what the tool keeps through one episode (such as one bash). The caller closes it. */
  open(context: () => ToolContext): ToolSession;
}

export interface ToolSession {
  /** Arguments were parsed as JSON; the tool checks their fields and answers mistakes as an invalid result. */
  call(args: Readonly<Record<string, Json>>): Promise<ToolResult>;
  close(): Promise<void>;
}

export interface Environment {
  /** Claims nothing yet. State = instruction, tools, limits. */
  reset(options: { readonly seed?: bigint }): Promise<State>;
  /** Runs every tool call of the action in order; after `submit` the rest is not run. */
  execute(action: Action): Promise<ExecutionResult>;
  /** Pure: what the policy perceives next. */
  next(result: ExecutionResult): State;
  /** Freezes, collects the artifacts and grades; the environment is then closed for acting. */
  verify(): Promise<Verdict>;
  /** Idempotent; destroys the sandbox. */
  close(): Promise<void>;
}
