/** A policy is the model under training or test, at one version. It sees states and answers with actions, nothing else. */
import type { Action, State } from "./environment.ts";

/** What a policy may know of the episode it acts in: never the verifier, hidden tests, host paths or secrets. */
export interface ActContext {
  readonly episodeId: string;
  /** Derived from run seed, group and member; equal seeds give equal actions of an embedded policy. */
  readonly seed: bigint;
  readonly signal: AbortSignal;
  /** Called with all that the endpoint has answered so far, so that a call that fails half-way is stored as far as it came. */
  readonly onPartial?: (raw: string) => void;
}

export interface PolicyDescription {
  readonly name: string;
  readonly backend: string;
  readonly sampling: {
    readonly temperature: number;
    readonly topP: number;
    readonly topK: number;
    readonly tokensMax: number;
    /** Whether log-probabilities are before or after temperature and truncation; null when there are none. */
    readonly logprobs: "raw" | "processed" | null;
  };
}

export interface Policy {
  readonly describe: PolicyDescription;
  /** Policy version that answers now; rises with each trainer update. */
  readonly version: number;
  /**
   * The next action. Malformed model output is an action with parse errors, not an exception.
   * Throws `endpoint_unavailable`, `endpoint_overloaded`, `endpoint_invalid` or `cancelled`.
   */
  act(state: State, context: ActContext): Promise<Action>;
}

/** How turns become tokens for a model that takes token ids. `parse(render(turns)) = turns`. */
export interface TokenRenderer {
  readonly name: string;
  /** Ids the model is shown at this state. A prefix once rendered never changes: sampled turns are appended as their ids. */
  prompt(state: State): Int32Array;
  /** Ids at which sampling stops. */
  readonly stopIds: readonly number[];
  /** Sampled ids as an action; malformed output becomes calls with `parseError`. */
  parse(ids: Int32Array): Pick<Action, "calls" | "text">;
}

export interface Tokenizer {
  readonly kind: "bytes" | "chars";
  readonly size: number;
  readonly sha256: string;
  readonly special: Readonly<Record<SpecialToken, number>>;
  /** Throws `record_invalid` naming the first character outside the declared set. Never produces special ids. */
  encode(text: string): Int32Array;
  /** Special tokens come out by name, `<end>`; keyword tokens as their text. */
  decode(ids: Int32Array): string;
  /** What rebuilds this tokenizer, stored in checkpoints. */
  toJson(): { readonly kind: "bytes" | "chars"; readonly characters: string; readonly keywords: readonly string[] };
}

export const SPECIAL_TOKENS = [
  "<pad>",
  "<bos>",
  "<eos>",
  "<turn:policy>",
  "<turn:observation>",
  "<tool>",
  "<end>",
] as const;
export type SpecialToken = (typeof SPECIAL_TOKENS)[number];
