/**
 * Reads what a chat endpoint answers, streamed or whole, into one message. Keeps every byte as it came; whatever is not
 * the protocol is `endpoint_invalid`, whatever ends too early is `endpoint_unavailable`. Nothing is guessed.
 */
import { Failure } from "../core/errors.ts";
import type { ChatToolCall } from "./renderer/chat-tools.ts";

export interface ChatAnswer {
  readonly content: string;
  readonly toolCalls: readonly ChatToolCall[];
  readonly finishReason: string | null;
  /** Sampled tokens as the endpoint counted them; null when it did not say. */
  readonly completionTokens: number | null;
}

/** An error the endpoint reports inside an answer that began well. */
export class ReportedError extends Error {
  override readonly name = "ReportedError";
}

/** Gathers server-sent events as they arrive. */
export class ChatStream {
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>();
  #pending = "";
  #content = "";
  #finishReason: string | null = null;
  #completionTokens: number | null = null;
  #isDone = false;

  /** Throws `endpoint_invalid` for what is not the protocol, ReportedError for an error event. */
  push(text: string): void {
    if (!text.includes("\n")) {
      this.#pending += text;
      return;
    }
    const lines = (this.#pending + text).split("\n");
    this.#pending = lines.pop() ?? "";
    for (const line of lines) this.#line(line.trimEnd());
  }

  /** Throws `endpoint_unavailable` when the stream was cut, `endpoint_invalid` when it never was one. */
  end(): ChatAnswer {
    this.#line(this.#pending.trimEnd());
    if (!this.#isDone && this.#finishReason === null) {
      throw new Failure("endpoint_unavailable", "The endpoint's answer was cut before its end.");
    }
    return {
      content: this.#content,
      toolCalls: [...this.#calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => chatToolCall(call)),
      finishReason: this.#finishReason,
      completionTokens: this.#completionTokens,
    };
  }

  #line(line: string): void {
    if (line === "" || line.startsWith(":") || /^(event|id|retry):/.test(line)) return;
    if (!line.startsWith("data:")) throw garbage(line);
    const data = line.slice("data:".length).trim();
    if (data === "[DONE]") this.#isDone = true;
    else this.#event(parseObject(data));
  }

  #event(event: Fields): void {
    throwReported(event);
    const usage = fieldsOf(event["usage"]);
    if (typeof usage?.["completion_tokens"] === "number") this.#completionTokens = usage["completion_tokens"];
    const choice = firstChoice(event);
    if (choice === null) return;
    if (typeof choice["finish_reason"] === "string") this.#finishReason = choice["finish_reason"];
    const delta = fieldsOf(choice["delta"]);
    if (typeof delta?.["content"] === "string") this.#content += delta["content"];
    for (const part of listOf(delta?.["tool_calls"])) this.#toolCall(part);
  }

  #toolCall(part: Fields): void {
    const index = typeof part["index"] === "number" ? part["index"] : this.#calls.size;
    const call = this.#calls.get(index) ?? { id: "", name: "", arguments: "" };
    const named = fieldsOf(part["function"]);
    if (typeof part["id"] === "string" && part["id"] !== "") call.id = part["id"];
    if (typeof named?.["name"] === "string") call.name += named["name"];
    if (typeof named?.["arguments"] === "string") call.arguments += named["arguments"];
    this.#calls.set(index, call);
  }
}

/** The answer of an endpoint that does not stream. Throws as `ChatStream` does. */
export function wholeAnswer(text: string): ChatAnswer {
  const body = parseObject(text);
  throwReported(body);
  const choice = firstChoice(body);
  const message = fieldsOf(choice?.["message"]);
  if (choice === null || message === null) throw garbage(text);
  const usage = fieldsOf(body["usage"]);
  return {
    content: typeof message["content"] === "string" ? message["content"] : "",
    toolCalls: listOf(message["tool_calls"]).map((part) => {
      const named = fieldsOf(part["function"]);
      return chatToolCall({
        id: typeof part["id"] === "string" ? part["id"] : "",
        name: typeof named?.["name"] === "string" ? named["name"] : "",
        arguments: typeof named?.["arguments"] === "string" ? named["arguments"] : "",
      });
    }),
    finishReason: typeof choice["finish_reason"] === "string" ? choice["finish_reason"] : null,
    completionTokens: typeof usage?.["completion_tokens"] === "number" ? usage["completion_tokens"] : null,
  };
}

type Fields = Readonly<Record<string, unknown>>;

function chatToolCall(call: { readonly id: string; readonly name: string; readonly arguments: string }): ChatToolCall {
  return { id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } };
}

function parseObject(text: string): Fields {
  try {
    const fields = fieldsOf(JSON.parse(text));
    if (fields !== null) return fields;
  } catch {
    // Falls through: both kinds of garbage read the same to a person.
  }
  throw garbage(text);
}

function fieldsOf(value: unknown): Fields | null {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Fields) : null;
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf).filter((part) => part !== null) : [];
}

/** Null for an event without choices, such as the one that carries the usage. */
function firstChoice(event: Fields): Fields | null {
  if (!Array.isArray(event["choices"])) throw garbage(JSON.stringify(event));
  return fieldsOf(event["choices"][0]);
}

function throwReported(event: Fields): void {
  const error = event["error"];
  if (error === undefined || error === null) return;
  throw new ReportedError(typeof error === "string" ? error : JSON.stringify(error));
}

function garbage(text: string): Failure {
  const start = text.slice(0, 120);
  return new Failure(
    "endpoint_invalid",
    `The endpoint answered what is not the chat protocol: ${JSON.stringify(start)}.`,
  );
}
