/** Checks of what callers hand in, before any of it reaches the engine: token ids, lengths, and what fits the context. */
import { Failure } from "../../core/errors.ts";
import type { Coefficients, SampleRequest, TrainSequence } from "../../core/policy-backend.ts";

/** Limits of one open engine. */
export interface Bounds {
  readonly vocab: number;
  readonly contextMax: number;
}

const STOP_IDS_MAX = 16;

/** Throws `policy_context_exceeded` or `request_invalid`. */
export function checkTokens(tokens: Int32Array, what: string, { vocab, contextMax }: Bounds): void {
  if (tokens.length < 1) throw new Failure("request_invalid", `${what} is empty; it needs one token at least.`);
  if (tokens.length > contextMax) {
    throw new Failure(
      "policy_context_exceeded",
      `${what} has ${tokens.length} tokens, over the policy's context of ${contextMax}.`,
    );
  }
  const outside = tokens.findIndex((token) => token < 0 || token >= vocab);
  if (outside >= 0) {
    throw new Failure(
      "request_invalid",
      `${what} has token id ${tokens[outside]} at position ${outside}; the tokenizer has ids 0 to ${vocab - 1}.`,
    );
  }
}

/** Throws `policy_context_exceeded` or `request_invalid`. */
export function checkRequest(request: SampleRequest, bounds: Bounds): void {
  const { promptIds, tokensMax, stopIds, temperature, seed } = request;
  checkTokens(promptIds, "The prompt", bounds);
  if (!Number.isInteger(tokensMax) || tokensMax < 1) {
    throw new Failure("request_invalid", `tokensMax must be a whole number of 1 or more, not ${tokensMax}.`);
  }
  if (promptIds.length + tokensMax > bounds.contextMax) {
    throw new Failure(
      "policy_context_exceeded",
      `A prompt of ${promptIds.length} tokens and tokensMax = ${tokensMax} are over the policy's context of ${bounds.contextMax}.`,
    );
  }
  if (stopIds.length > STOP_IDS_MAX) {
    throw new Failure("request_invalid", `${stopIds.length} stop ids were given; at most ${STOP_IDS_MAX} are allowed.`);
  }
  if (!Number.isFinite(temperature) || temperature < 0) {
    throw new Failure("request_invalid", `The temperature must be 0 (greedy) or more, not ${temperature}.`);
  }
  if (seed < 0n || seed >= 1n << 64n)
    throw new Failure("request_invalid", "The seed must be an unsigned 64-bit number.");
}

/** Throws `policy_context_exceeded` or `request_invalid`. */
export function checkSequences(
  sequences: readonly TrainSequence[],
  coefficients: Coefficients | null,
  bounds: Bounds,
): void {
  if (coefficients !== null && coefficients.length !== sequences.length) {
    throw new Failure(
      "request_invalid",
      `${coefficients.length} coefficient arrays were given for ${sequences.length} sequences.`,
    );
  }
  sequences.forEach(({ tokens, mask, temperature }, index) => {
    checkTokens(tokens, `Sequence ${index}`, bounds);
    const lengths = [mask.length, coefficients?.[index]?.length ?? tokens.length];
    if (lengths.some((length) => length !== tokens.length)) {
      throw new Failure(
        "request_invalid",
        `Sequence ${index} has ${tokens.length} tokens, but its mask or coefficients have ${lengths.join(" and ")}.`,
      );
    }
    if (mask[0] !== 0)
      throw new Failure("request_invalid", `Sequence ${index} trains its first token; mask[0] must be 0.`);
    if (!Number.isFinite(temperature) || temperature < 0) {
      throw new Failure("request_invalid", `Sequence ${index} has temperature ${temperature}; it must be 0 or more.`);
    }
  });
}
