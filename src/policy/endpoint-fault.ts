/**
 * What an endpoint's error means: whose failure it is, whether the same call may be tried again, and when. A context
 * that is too long is the policy's limit and no failure at all. A key never appears in a message.
 */
import { APIConnectionError, APIError } from "openai";
import { Failure } from "../core/errors.ts";
import { ReportedError } from "./chat-answer.ts";

export type EndpointFault =
  | { readonly kind: "context" }
  | {
      readonly kind: "failure";
      readonly failure: Failure;
      readonly mayRetry: boolean;
      readonly retryAfterMs: number | null;
    };

const CONTEXT_WORDS =
  /context[_ ]length|context[_ ]window|maximum context|context size|prompt is too long|too many (input )?tokens|exceed\w* .*\bcontext\b/i;

const MESSAGE_CHARACTERS_MAX = 500;

/** `now` is UTC milliseconds, for a Retry-After that names a date. */
export function endpointFault(error: unknown, redact: (text: string) => string, now: number): EndpointFault {
  if (error instanceof Failure) return failed(error, error.code === "endpoint_unavailable");
  const message = redact(messageOf(error)).slice(0, MESSAGE_CHARACTERS_MAX);
  if (error instanceof ReportedError) {
    if (CONTEXT_WORDS.test(message)) return { kind: "context" };
    return failed(new Failure("endpoint_unavailable", `The endpoint reported an error: ${message}`), true);
  }
  // The client's own error is not kept as a cause: its request headers hold the key.
  if (error instanceof APIConnectionError || !(error instanceof APIError) || error.status === undefined) {
    return failed(new Failure("endpoint_unavailable", `The endpoint could not be reached: ${message}`), true);
  }
  const status: number = error.status;
  const isRequestError = status === 400 || status === 413 || status === 422;
  if (isRequestError && (error.code === "context_length_exceeded" || CONTEXT_WORDS.test(message)))
    return { kind: "context" };
  const retryAfterMs = retryAfter(error.headers ?? new Headers(), now);
  const text = `The endpoint answered ${status}: ${message}`;
  if (status === 429) return failed(new Failure("endpoint_overloaded", text), true, retryAfterMs);
  if (status >= 500 || status === 408) return failed(new Failure("endpoint_unavailable", text), true, retryAfterMs);
  return failed(new Failure("endpoint_invalid", text), false);
}

function failed(failure: Failure, mayRetry: boolean, retryAfterMs: number | null = null): EndpointFault {
  return { kind: "failure", failure, mayRetry, retryAfterMs };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message}${cause}`;
}

/** Milliseconds the endpoint asks to wait, from seconds or a date; null when it does not say. */
function retryAfter(headers: Headers, now: number): number | null {
  const value = headers.get("retry-after");
  if (value === null) return null;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
