/**
 * A policy behind any OpenAI-compatible chat endpoint with tool calls. It samples only; it cannot be trained.
 *
 * A call is tried again a bounded number of times for 429, 5xx, a lost connection or a stall, with jitter, as late as
 * Retry-After asks. The key is named by its environment variable, read once, and appears in no record and no message.
 */
import type OpenAI from "openai";
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { Action, State } from "../core/environment.ts";
import { Failure } from "../core/errors.ts";
import type { ActContext, Policy } from "../core/policy.ts";
import { type Runtime, withDeadline } from "../core/runtime.ts";
import { type ChatAnswer, ChatStream, wholeAnswer } from "./chat-answer.ts";
import { type EndpointClientOptions, endpointClient, withoutKey } from "./endpoint-client.ts";
import { endpointFault } from "./endpoint-fault.ts";
import { chatMessages, chatTools, parseChatTurn } from "./renderer/chat-tools.ts";

const RAW_CHARACTERS_MAX = 16 * 1024 * 1024;
const BYTES_PER_TOKEN_ESTIMATE = 4;

export interface OpenaiPolicyOptions extends EndpointClientOptions {
  readonly model: string;
  readonly temperature: number;
  readonly runtime: Runtime;
  /** Most tokens of one turn; default 4,096. */
  readonly tokensMax?: number;
  /** Until the first byte of an answer; default 120 s. */
  readonly firstByteMs?: number;
  /** Between two pieces of an answer; default 60 s. */
  readonly stallMs?: number;
  /** Tries after the first; default 4. */
  readonly retriesMax?: number;
  /** First wait before a retry, doubled each time and drawn from its upper half; default 1 s, at most 30 s. */
  readonly backoffMs?: number;
  /** A longer Retry-After fails at once; default 60 s. */
  readonly retryAfterMaxMs?: number;
}

type Settings = Required<OpenaiPolicyOptions>;

/** Throws `config_invalid` when a named variable is not set. */
export function openaiPolicy(options: OpenaiPolicyOptions): Policy {
  const settings: Settings = {
    tokensMax: 4096,
    firstByteMs: 120_000,
    stallMs: 60_000,
    retriesMax: 4,
    backoffMs: 1_000,
    retryAfterMaxMs: 60_000,
    ...options,
  };
  const { client, key } = endpointClient(options);
  return {
    describe: {
      name: options.model,
      backend: "openai",
      sampling: { temperature: options.temperature, topP: 1, topK: 0, tokensMax: settings.tokensMax, logprobs: null },
    },
    version: 0,
    act: (state, context) => act(client, settings, key, state, context),
  };
}

async function act(
  client: OpenAI,
  settings: Settings,
  key: string | null,
  state: State,
  context: ActContext,
): Promise<Action> {
  const { runtime } = settings;
  const body = requestBody(settings, state, context.seed);
  for (let retry = 0; ; retry += 1) {
    const raw = new RawAnswer(key, context.onPartial);
    try {
      const answer = await ask(client, settings, body, raw, context.signal);
      return toAction(withoutKeyIn(answer, key), raw.text);
    } catch (error) {
      if (context.signal.aborted)
        throw new Failure("cancelled", "The turn was given up.", { cause: context.signal.reason });
      const fault = endpointFault(error, (text) => withoutKey(text, key), runtime.now());
      if (fault.kind === "context") return outOfContext(raw.text);
      const waitMs = fault.retryAfterMs ?? backoff(settings, retry);
      if (!fault.mayRetry || retry >= settings.retriesMax || waitMs > settings.retryAfterMaxMs) throw fault.failure;
      await runtime.sleep(waitMs, context.signal);
    }
  }
}

function requestBody(settings: Settings, state: State, seed: bigint): ChatCompletionCreateParamsStreaming {
  const tokensMax = Math.max(1, Math.min(settings.tokensMax, state.limitsLeft.tokens));
  const body = {
    model: settings.model,
    messages: chatMessages(state),
    tools: chatTools(state.tools),
    temperature: settings.temperature,
    // The newer name is asked for by the default endpoint; servers that imitate it know the older one.
    ...(settings.baseUrl === null ? { max_completion_tokens: tokensMax } : { max_tokens: tokensMax }),
    seed: Number(BigInt.asUintN(31, seed + BigInt(state.turn))),
    stream: true,
    stream_options: { include_usage: true },
  };
  // The wire types of the client are mutable and wider than ours; the value is the same.
  return body as unknown as ChatCompletionCreateParamsStreaming;
}

/** One call, from request to whole answer, within its deadlines. */
async function ask(
  client: OpenAI,
  settings: Settings,
  body: ChatCompletionCreateParamsStreaming,
  raw: RawAnswer,
  signal: AbortSignal,
): Promise<ChatAnswer> {
  const { runtime } = settings;
  const call = new AbortController();
  const stop = AbortSignal.any([signal, call.signal]);
  try {
    const response = await within(runtime, settings.firstByteMs, "begun to answer", stop, () =>
      client.chat.completions.create(body, { signal: stop }).asResponse(),
    );
    const isStream = !(response.headers.get("content-type") ?? "").includes("application/json");
    const stream = new ChatStream();
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const waitMs = raw.text === "" ? settings.firstByteMs : settings.stallMs;
      const piece = await within(runtime, waitMs, "gone on answering", stop, async () => reader?.read());
      if (piece === undefined || piece.done) break;
      const text = decoder.decode(piece.value, { stream: true });
      raw.push(text);
      if (isStream) stream.push(text);
    }
    return isStream ? stream.end() : wholeAnswer(raw.text);
  } finally {
    // Ends the connection of an answer that is not read to its end.
    call.abort();
  }
}

/** `work`, unless the time passes or the signal aborts first; it need not watch the signal itself. */
async function within<T>(
  runtime: Runtime,
  ms: number,
  verb: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const late = (): Failure => new Failure("endpoint_unavailable", `The endpoint had not ${verb} after ${ms} ms.`);
  let leave = (): void => undefined;
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(new Failure("cancelled", "The turn was given up.", { cause: signal.reason }));
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([withDeadline(runtime, ms, late, work), left]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** What came so far, without the key, also where the key is split over two pieces. Bounded: an endless answer is none. */
class RawAnswer {
  readonly #key: string | null;
  readonly #onPartial: ((raw: string) => void) | undefined;
  #clean = "";
  /** The end of what came, too short to hold a whole key, but perhaps the start of one. */
  #held = "";

  constructor(key: string | null, onPartial: ((raw: string) => void) | undefined) {
    this.#key = key;
    this.#onPartial = onPartial;
  }

  get text(): string {
    return this.#clean + this.#held;
  }

  push(text: string): void {
    const redacted = withoutKey(this.#held + text, this.#key);
    const end = Math.max(0, redacted.length - (this.#key?.length ?? 0));
    this.#clean += redacted.slice(0, end);
    this.#held = redacted.slice(end);
    this.#onPartial?.(this.text);
    if (this.#clean.length > RAW_CHARACTERS_MAX) {
      throw new Failure("endpoint_invalid", `The endpoint's answer is longer than ${RAW_CHARACTERS_MAX} characters.`);
    }
  }
}

/** A model that was shown the key must not carry it into the record. */
function withoutKeyIn(answer: ChatAnswer, key: string | null): ChatAnswer {
  const toolCalls = answer.toolCalls.map((call) => {
    const { name } = call.function;
    return { ...call, function: { name, arguments: withoutKey(call.function.arguments, key) } };
  });
  return { ...answer, content: withoutKey(answer.content, key), toolCalls };
}

function toAction(answer: ChatAnswer, raw: string): Action {
  const turn = parseChatTurn({ content: answer.content, tool_calls: answer.toolCalls });
  const text = answer.content + answer.toolCalls.map((call) => call.function.name + call.function.arguments).join("");
  const estimate = Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN_ESTIMATE);
  return {
    ...turn,
    tokens: null,
    raw,
    sampledTokens: answer.completionTokens ?? estimate,
    isSampledTokensEstimated: answer.completionTokens === null,
    stopReason: answer.finishReason === "length" ? "token_limit" : null,
  };
}

function outOfContext(raw: string): Action {
  return { calls: [], text: "", tokens: null, raw, sampledTokens: 0, stopReason: "context_limit" };
}

function backoff(settings: Settings, retry: number): number {
  const fullMs = Math.min(settings.backoffMs * 2 ** retry, 30_000);
  const [byte = 0] = settings.runtime.randomBytes(1);
  return fullMs * (0.5 + byte / 512);
}
