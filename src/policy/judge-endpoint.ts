/**
 * A judge behind any OpenAI-compatible chat endpoint that can be held to a JSON Schema. One question, one whole answer;
 * tried again a bounded number of times like a policy's call. The key appears in no record and no message.
 */
import type OpenAI from "openai";
import type { ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions";
import { Failure } from "../core/errors.ts";
import type { JudgeEndpoint, JudgeReply, JudgeRequest } from "../core/judge.ts";
import { type Runtime, withDeadline } from "../core/runtime.ts";
import { type EndpointClientOptions, endpointClient, withoutKey } from "./endpoint-client.ts";
import { endpointFault } from "./endpoint-fault.ts";

/** Whom to ask, with which key, and how patiently. */
export interface JudgeEndpointOptions extends EndpointClientOptions {
  /** Asked where a task names no model of its own. */
  readonly model: string;
  readonly runtime: Runtime;
  /** Most tokens of an answer; default 4,096. */
  readonly tokensMax?: number;
  /** Of one call; default 120 s. */
  readonly callMs?: number;
  /** Tries after the first; default 3. */
  readonly retriesMax?: number;
  /** First wait before a retry, doubled each time; default 1 s. A Retry-After is waited for, at most 60 s. */
  readonly backoffMs?: number;
}

const ANSWER_CHARACTERS_MAX = 1024 * 1024;
const RETRY_AFTER_MS_MAX = 60_000;

type Settings = Required<JudgeEndpointOptions>;

/** Sampling is greedy, so that votes differ by the order of their questions alone. Throws `config_invalid` for a key that is not set. */
export function openaiJudge(options: JudgeEndpointOptions): JudgeEndpoint {
  const settings: Settings = { tokensMax: 4_096, callMs: 120_000, retriesMax: 3, backoffMs: 1_000, ...options };
  const { client, key } = endpointClient(options);
  const redact = (text: string) => withoutKey(text, key);
  return { ask: (request) => ask(client, settings, request, redact) };
}

async function ask(
  client: OpenAI,
  settings: Settings,
  request: JudgeRequest,
  redact: (text: string) => string,
): Promise<JudgeReply> {
  const { runtime, retriesMax, backoffMs } = settings;
  const body = requestBody(settings, request);
  for (let retry = 0; ; retry += 1) {
    try {
      return replyOf(await send(client, settings, body, request.signal), body.model, client.baseURL, redact);
    } catch (error) {
      if (request.signal.aborted)
        throw new Failure("cancelled", "The judge was given up.", { cause: request.signal.reason });
      const fault = endpointFault(error, redact, runtime.now());
      if (fault.kind === "context")
        throw new Failure(
          "endpoint_invalid",
          "The judge's model cannot hold the rubric and its evidence; name another.",
        );
      const waitMs = fault.retryAfterMs ?? backoffMs * 2 ** retry;
      if (!fault.mayRetry || retry >= retriesMax || waitMs > RETRY_AFTER_MS_MAX)
        throw new Failure(fault.failure.code, `${client.baseURL} as a judge: ${fault.failure.message}`);
      await runtime.sleep(waitMs, request.signal);
    }
  }
}

function requestBody(
  settings: Settings,
  { prompt, schema, model, seed }: JudgeRequest,
): ChatCompletionCreateParamsNonStreaming {
  const { tokensMax, baseUrl } = settings;
  return {
    model: model ?? settings.model,
    messages: [{ role: "user", content: prompt }],
    temperature: 0,
    seed,
    // The newer name is asked for by the default endpoint; servers that imitate it know the older one.
    ...(baseUrl === null ? { max_completion_tokens: tokensMax } : { max_tokens: tokensMax }),
    response_format: { type: "json_schema", json_schema: { name: "verdict", strict: true, schema: { ...schema } } },
  };
}

/** One call, with its answer as text: bounded in size and time, whatever the server sends. */
async function send(
  client: OpenAI,
  { runtime, callMs }: Settings,
  body: ChatCompletionCreateParamsNonStreaming,
  signal: AbortSignal,
): Promise<string> {
  const late = () => new Failure("endpoint_unavailable", `The judge's endpoint had not answered after ${callMs} ms.`);
  return withDeadline(runtime, callMs, late, async (deadline) => {
    const stop = AbortSignal.any([signal, deadline]);
    const response = await client.chat.completions.create(body, { signal: stop }).asResponse();
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      if (text.length > ANSWER_CHARACTERS_MAX)
        throw new Failure("endpoint_invalid", `The judge's answer is longer than ${ANSWER_CHARACTERS_MAX} characters.`);
    }
    return text;
  });
}

function replyOf(raw: string, asked: string, endpoint: string, redact: (text: string) => string): JudgeReply {
  const answer = parsed(raw);
  const choice = firstOf(member(answer, "choices"));
  const message = member(choice, "message");
  const isFiltered = member(choice, "finish_reason") === "content_filter";
  // The work may have provoked a refusal, so it is an answer, that fits no question, and not a fault of the endpoint.
  const text =
    member(message, "content") || member(message, "refusal") || (isFiltered && "withheld by a content filter");
  if (typeof text !== "string" || text === "")
    throw new Failure("endpoint_invalid", "The judge's endpoint answered without content.");
  const model = member(answer, "model");
  const usage = member(answer, "usage");
  return {
    text: redact(text),
    model: typeof model === "string" ? redact(model) : asked,
    endpoint,
    promptTokens: countOf(member(usage, "prompt_tokens")),
    sampledTokens: countOf(member(usage, "completion_tokens")),
  };
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    throw new Failure("endpoint_unavailable", "The judge's endpoint answered with something that is no JSON.");
  }
}

function member(value: unknown, name: string): unknown {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>)[name] : undefined;
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}
