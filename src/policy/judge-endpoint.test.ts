/** A judge over a real chat protocol on loopback: what is asked, what comes back, and every way an endpoint may fail. */
import { afterEach, expect, test } from "vitest";
import { type OpenaiServer, openaiServer, type ServerPlan } from "../../test/support/openai-server.ts";
import type { JudgeRequest } from "../core/judge.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openaiJudge } from "./judge-endpoint.ts";

const servers: OpenaiServer[] = [];
const schema = { type: "object", properties: { q1: { type: "string" } }, required: ["q1"] };

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function judge(...plans: ServerPlan[]) {
  const server = await openaiServer(plans);
  servers.push(server);
  const options = { model: "judge-1", baseUrl: server.baseUrl, keyVariable: null, runtime: systemRuntime() };
  return { server, ...openaiJudge({ ...options, callMs: 300, retriesMax: 1, backoffMs: 1 }) };
}

function request(change: Partial<JudgeRequest> = {}): JudgeRequest {
  return { prompt: "Is it so?", schema, model: null, seed: 42, signal: new AbortController().signal, ...change };
}

const yes: ServerPlan = { kind: "reply", isWhole: true, reply: { text: '{"q1":"yes"}' } };

test("a question goes out with its schema and seed, and its answer comes back with what it took", async () => {
  const { ask, server } = await judge(yes);
  const reply = await ask(request());
  expect(reply).toEqual({
    text: '{"q1":"yes"}',
    model: "judge-1",
    endpoint: server.baseUrl,
    promptTokens: null,
    sampledTokens: 5,
  });
  expect(server.requests[0]).toMatchObject({
    model: "judge-1",
    messages: [{ role: "user", content: "Is it so?" }],
    temperature: 0,
    seed: 42,
    response_format: { type: "json_schema", json_schema: { strict: true, schema } },
  });
});

test("a task's own model is asked where it names one", async () => {
  const { ask, server } = await judge(yes);
  await ask(request({ model: "judge-2" }));
  expect(server.requests[0]?.model).toBe("judge-2");
});

test("a call that fails for the moment is tried again, within its bound", async () => {
  const { ask, server } = await judge({ kind: "status", status: 503 }, yes);
  expect((await ask(request())).text).toBe('{"q1":"yes"}');
  expect(server.requests).toHaveLength(2);
});

test.each<[string, ServerPlan, string]>([
  ["5xx without end", { kind: "status", status: 503 }, "endpoint_unavailable"],
  ["429 without end", { kind: "status", status: 429 }, "endpoint_overloaded"],
  ["a request it does not take", { kind: "status", status: 400 }, "endpoint_invalid"],
  ["a closed connection", { kind: "reset" }, "endpoint_unavailable"],
  ["silence", { kind: "silence" }, "endpoint_unavailable"],
  ["headers and then nothing", { kind: "stall" }, "endpoint_unavailable"],
  ["no JSON", { kind: "garbage", body: "<html>", contentType: "application/json" }, "endpoint_unavailable"],
  ["an empty answer", { kind: "reply", isWhole: true, reply: { text: "" } }, "endpoint_invalid"],
  ["no choices", { kind: "garbage", body: "{}", contentType: "application/json" }, "endpoint_invalid"],
  [
    "a context too small",
    { kind: "status", status: 400, body: '{"error":{"message":"maximum context length"}}' },
    "endpoint_invalid",
  ],
  [
    "an endless answer",
    { kind: "garbage", body: " ".repeat(2 ** 20 + 1), contentType: "application/json" },
    "endpoint_invalid",
  ],
])("an endpoint that gives %s is a failure with its code, never an empty answer", async (_name, plan, code) => {
  const { ask } = await judge(plan);
  await expect(ask(request())).rejects.toMatchObject({ code });
});

test("a failure names the address that was asked, so that a mistyped one is seen", async () => {
  const { ask, server } = await judge({ kind: "status", status: 503 });
  await expect(ask(request())).rejects.toThrow(`${server.baseUrl} as a judge: The endpoint answered 503`);
});

test("a refusal, which the work may have provoked, is an answer that says yes to nothing", async () => {
  const body = JSON.stringify({ choices: [{ message: { content: null, refusal: "I cannot say." } }] });
  const { ask } = await judge({ kind: "garbage", body, contentType: "application/json" });
  expect((await ask(request())).text).toBe("I cannot say.");
});

test("an answer that a filter of content withheld, which the work may have provoked, says yes to nothing, too", async () => {
  const plan = { kind: "reply", isWhole: true, reply: { text: "", finishReason: "content_filter" } } as const;
  const { ask } = await judge(plan);
  expect((await ask(request())).text).toBe("withheld by a content filter");
});

test("a grading that is given up ends the call", async () => {
  const { ask } = await judge({ kind: "silence" });
  const controller = new AbortController();
  const asked = ask(request({ signal: controller.signal }));
  controller.abort();
  await expect(asked).rejects.toMatchObject({ code: "cancelled" });
});

test("a key that should be there and is not is said before anything is asked", () => {
  const options = { model: "m", baseUrl: "http://127.0.0.1:1", runtime: systemRuntime() };
  expect(() => openaiJudge({ ...options, keyVariable: "SANDLOT_NO_SUCH_KEY" })).toThrow(/SANDLOT_NO_SUCH_KEY/);
});

test("a key that the endpoint says back is in nothing that is recorded", async () => {
  const key = "key-0123456789";
  process.env["SANDLOT_TEST_JUDGE_KEY"] = key;
  try {
    const body = JSON.stringify({ model: `m ${key}`, choices: [{ message: { content: `yes ${key}` } }] });
    const server = await openaiServer([{ kind: "garbage", body, contentType: "application/json" }]);
    servers.push(server);
    const options = { model: "m", baseUrl: server.baseUrl, keyVariable: "SANDLOT_TEST_JUDGE_KEY" };
    const reply = await openaiJudge({ ...options, runtime: systemRuntime() }).ask(request());
    expect(reply).toMatchObject({ model: "m [key]", text: "yes [key]" });
    expect(JSON.stringify(reply)).not.toContain(key);
  } finally {
    delete process.env["SANDLOT_TEST_JUDGE_KEY"];
  }
});
