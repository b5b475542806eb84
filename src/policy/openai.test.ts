/** The OpenAI policy against a real server on loopback: each planted fault ends in its class, and no key leaks. */
import { afterEach, expect, test } from "vitest";
import { type ModelReply, type OpenaiServer, openaiServer, type ServerPlan } from "../../test/support/openai-server.ts";
import type { State } from "../core/environment.ts";
import { systemRuntime } from "../runtime/system.ts";
import { type OpenaiPolicyOptions, openaiPolicy } from "./openai.ts";
import { shellTool } from "./tool/shell.ts";

const runtime = systemRuntime();
const servers: OpenaiServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  delete process.env["SANDLOT_TEST_KEY_NAME"];
});

const state: State = {
  turn: 0,
  messages: [
    { role: "system", text: "Be brief." },
    { role: "user", text: "Say hello." },
  ],
  tools: [shellTool()],
  limitsLeft: { turns: 5, tokens: 1000, agentMs: 60_000 },
  done: false,
  stopReason: null,
};

const calling: ModelReply = { text: "I will.", calls: [{ name: "shell", arguments: '{"command":"ls"}' }] };
const replying: ServerPlan = { kind: "reply", reply: calling };

async function start(plans: readonly ServerPlan[], options: Partial<OpenaiPolicyOptions> = {}) {
  const server = await openaiServer(plans);
  servers.push(server);
  const policy = openaiPolicy({
    model: "test-model",
    baseUrl: server.baseUrl,
    keyVariable: null,
    temperature: 1,
    runtime,
    firstByteMs: 10_000,
    stallMs: 10_000,
    retriesMax: 2,
    backoffMs: 1,
    ...options,
  });
  const partials: string[] = [];
  const controller = new AbortController();
  const act = () =>
    policy.act(state, { episodeId: "e", seed: 1n, signal: controller.signal, onPartial: (raw) => partials.push(raw) });
  return { server, act, partials, controller };
}

test.each([
  ["streamed", replying],
  ["whole", { ...replying, isWhole: true } as ServerPlan],
])("a %s answer with a tool call becomes an action, with its raw bytes and tokens", async (_name, plan) => {
  const { act, server } = await start([plan]);
  const action = await act();
  expect(action.text).toBe("I will.");
  expect(action.calls).toEqual([
    { id: "c0", name: "shell", argumentsRaw: '{"command":"ls"}', arguments: { command: "ls" }, parseError: null },
  ]);
  expect(action).toMatchObject({ sampledTokens: 5, isSampledTokensEstimated: false, stopReason: null });
  expect(action.raw).toContain("ls");
  expect(server.requests[0]?.tools[0]?.function.name).toBe("shell");
  expect(server.requests[0]?.max_tokens).toBe(1000);
});

test("tokens are estimated, and said to be, where the endpoint does not count them", async () => {
  const { act } = await start([{ kind: "reply", reply: { text: "hello there", isUsageTold: false } }]);
  expect(await act()).toMatchObject({ sampledTokens: 3, isSampledTokensEstimated: true });
});

test("an answer cut at the turn's own limit stops the episode with token_limit", async () => {
  const { act } = await start([{ kind: "reply", reply: { text: "hel", finishReason: "length" } }]);
  expect(await act()).toMatchObject({ stopReason: "token_limit" });
});

test("malformed arguments are an action with a parse error", async () => {
  const { act } = await start([{ kind: "reply", reply: { calls: [{ name: "shell", arguments: '{"command":' }] } }]);
  const { calls } = await act();
  expect(calls[0]).toMatchObject({ argumentsRaw: '{"command":', arguments: null });
  expect(calls[0]?.parseError).toMatch(/not JSON/);
});

test.each<[string, ServerPlan, string, number]>([
  ["500", { kind: "status", status: 500 }, "endpoint_unavailable", 3],
  ["429", { kind: "status", status: 429 }, "endpoint_overloaded", 3],
  ["a connection that is reset", { kind: "reset" }, "endpoint_unavailable", 3],
  ["a cut stream", { kind: "cut", after: calling }, "endpoint_unavailable", 3],
  ["garbage", { kind: "garbage", body: "<html>It works!</html>" }, "endpoint_invalid", 1],
  ["garbage events", { kind: "garbage", body: "data: {nonsense\n\n" }, "endpoint_invalid", 1],
  [
    "JSON of another protocol",
    { kind: "garbage", body: '{"ok":true}', contentType: "application/json" },
    "endpoint_invalid",
    1,
  ],
  ["a refused key", { kind: "status", status: 401 }, "endpoint_invalid", 1],
])("an endpoint that answers %s fails in its class after its bounded tries", async (_name, plan, code, tries) => {
  const { act, server } = await start([plan]);
  await expect(act()).rejects.toMatchObject({ code });
  expect(server.requests).toHaveLength(tries);
});

test.each<[string, ServerPlan]>([
  ["never answers", { kind: "silence" }],
  ["sends headers and stalls", { kind: "stall" }],
  ["stalls in the middle", { kind: "stall", after: calling }],
])("an endpoint that %s is unavailable, not waited for", async (_name, plan) => {
  const { act } = await start([plan], { firstByteMs: 40, stallMs: 40, retriesMax: 0 });
  await expect(act()).rejects.toMatchObject({ code: "endpoint_unavailable" });
});

test("an endpoint that recovers is asked again and its answer taken", async () => {
  const { act, server } = await start([{ kind: "status", status: 503 }, { kind: "cut", after: calling }, replying]);
  expect((await act()).calls).toHaveLength(1);
  expect(server.requests).toHaveLength(3);
});

test("a Retry-After longer than allowed fails at once", async () => {
  const { act, server } = await start([{ kind: "status", status: 429, headers: { "retry-after": "3600" } }]);
  await expect(act()).rejects.toMatchObject({ code: "endpoint_overloaded" });
  expect(server.requests).toHaveLength(1);
});

test.each([
  ["by code", JSON.stringify({ error: { message: "no", code: "context_length_exceeded" } })],
  ["in words", JSON.stringify({ error: { message: "This model's maximum context length is 4096 tokens." } })],
])("a context that is too long, told %s, is a limit of the policy and no failure", async (_name, body) => {
  const { act } = await start([{ kind: "status", status: 400, body }]);
  expect(await act()).toMatchObject({ stopReason: "context_limit", calls: [] });
});

test("the half of an answer that came is told before the call fails", async () => {
  const { act, partials } = await start([{ kind: "cut", after: calling }], { retriesMax: 0 });
  await expect(act()).rejects.toMatchObject({ code: "endpoint_unavailable" });
  expect(partials.at(-1)).toContain("I wi");
});

test("a turn that is given up ends at once as cancelled", async () => {
  const { act, controller } = await start([{ kind: "silence" }]);
  const acting = act();
  controller.abort();
  await expect(acting).rejects.toMatchObject({ code: "cancelled" });
});

test("the key is sent, and appears in no record and no message", async () => {
  process.env["SANDLOT_TEST_KEY_NAME"] = "sk-very-secret-value";
  const echo: ServerPlan = { kind: "reply", reply: { text: "your key is sk-very-secret-value" } };
  const leak: ServerPlan = {
    kind: "status",
    status: 401,
    body: '{"error":{"message":"bad key sk-very-secret-value"}}',
  };
  const { act, server } = await start([echo, leak], { keyVariable: "SANDLOT_TEST_KEY_NAME" });
  const action = await act();
  expect(server.headers[0]?.authorization).toBe("Bearer sk-very-secret-value");
  expect(JSON.stringify(action)).not.toContain("sk-very-secret-value");
  const error = await act().catch((failure: unknown) => failure);
  expect(String(error)).toContain("[key]");
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error as object))).not.toContain("sk-very-secret-value");
});

test("a key variable that is not set is named", () => {
  const make = () =>
    openaiPolicy({ model: "m", baseUrl: null, keyVariable: "SANDLOT_NO_SUCH", temperature: 1, runtime });
  expect(make).toThrow(/SANDLOT_NO_SUCH/);
});
