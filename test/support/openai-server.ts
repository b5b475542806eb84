/**
 * A chat endpoint on loopback that speaks the OpenAI protocol with tool calls, streamed or whole, for tests. Each request
 * takes the next plan, the last one again and again, or the plan a function picks. A plan is a reply of a scripted model, or a planted fault.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
  readonly tools: readonly { readonly function: { readonly name: string } }[];
  readonly max_tokens?: number;
}

export interface ModelReply {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly finishReason?: string;
  readonly isUsageTold?: boolean;
}

export type ServerPlan =
  | {
      readonly kind: "reply";
      readonly reply: ModelReply | ((request: ChatRequest) => ModelReply);
      readonly isWhole?: boolean;
    }
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    }
  /** Headers, then nothing. */
  | { readonly kind: "stall"; readonly after?: ModelReply }
  /** Half a stream, then a closed connection. */
  | { readonly kind: "cut"; readonly after: ModelReply }
  /** 200 with this body. */
  | { readonly kind: "garbage"; readonly body: string; readonly contentType?: string }
  /** Not even headers. */
  | { readonly kind: "silence" }
  | { readonly kind: "reset" };

export interface OpenaiServer {
  readonly baseUrl: string;
  readonly requests: ChatRequest[];
  readonly headers: IncomingMessage["headers"][];
  close(): Promise<void>;
}

export type PlanPicker = (request: ChatRequest) => ServerPlan;

export async function openaiServer(plans: readonly ServerPlan[] | PlanPicker): Promise<OpenaiServer> {
  const requests: ChatRequest[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest;
      const plan = typeof plans === "function" ? plans(body) : plans[Math.min(requests.length, plans.length - 1)];
      requests.push(body);
      headers.push(request.headers);
      if (request.url !== "/v1/chat/completions" || plan === undefined) response.writeHead(404).end();
      else answer(plan, body, response);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    headers,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function answer(plan: ServerPlan, request: ChatRequest, response: ServerResponse): void {
  switch (plan.kind) {
    case "reply": {
      const reply = typeof plan.reply === "function" ? plan.reply(request) : plan.reply;
      if (plan.isWhole === true) sendWhole(response, reply);
      else {
        beginStream(response);
        for (const event of events(reply)) response.write(`data: ${JSON.stringify(event)}\n\n`);
        response.end("data: [DONE]\n\n");
      }
      return;
    }
    case "status":
      response.writeHead(plan.status, { "content-type": "application/json", ...plan.headers });
      response.end(plan.body ?? JSON.stringify({ error: { message: `planted ${plan.status}` } }));
      return;
    case "stall":
      beginStream(response);
      response.flushHeaders();
      if (plan.after !== undefined) writeHalf(response, plan.after);
      return;
    case "cut":
      beginStream(response);
      writeHalf(response, plan.after);
      response.end();
      return;
    case "garbage":
      response.writeHead(200, { "content-type": plan.contentType ?? "text/event-stream" });
      response.end(plan.body);
      return;
    case "silence":
      return;
    case "reset":
      response.destroy();
  }
}

function beginStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}

function writeHalf(response: ServerResponse, reply: ModelReply): void {
  const [first] = events(reply);
  response.write(`data: ${JSON.stringify(first)}\n\n`);
}

function sendWhole(response: ServerResponse, reply: ModelReply): void {
  response.writeHead(200, { "content-type": "application/json" });
  const tool_calls = (reply.calls ?? []).map((call, index) => ({ id: `c${index}`, type: "function", function: call }));
  const message = { role: "assistant", content: reply.text ?? null, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
  const usage = reply.isUsageTold === false ? {} : { usage: { completion_tokens: 5 } };
  response.end(
    JSON.stringify({ choices: [{ index: 0, message, finish_reason: reply.finishReason ?? "stop" }], ...usage }),
  );
}

/** The chunks of a stream: text and arguments come in two pieces each, as real endpoints cut them anywhere. */
function events(reply: ModelReply): object[] {
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const list: object[] = [];
  const text = reply.text ?? "";
  const middle = Math.ceil(text.length / 2);
  list.push(chunk({ role: "assistant", content: text.slice(0, middle) }), chunk({ content: text.slice(middle) }));
  for (const [index, call] of (reply.calls ?? []).entries()) {
    const half = Math.ceil(call.arguments.length / 2);
    const named = { name: call.name, arguments: call.arguments.slice(0, half) };
    list.push(chunk({ tool_calls: [{ index, id: `c${index}`, type: "function", function: named }] }));
    list.push(chunk({ tool_calls: [{ index, function: { arguments: call.arguments.slice(half) } }] }));
  }
  list.push(chunk({}, reply.finishReason ?? (reply.calls === undefined ? "stop" : "tool_calls")));
  if (reply.isUsageTold !== false)
    list.push({ object: "chat.completion.chunk", choices: [], usage: { completion_tokens: 5 } });
  return list;
}
