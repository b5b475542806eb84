/** Endpoints that answer 500, 429, garbage or never: failures of the endpoint without a reward, and siblings earn 1. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Machinery } from "../../src/app-parts.ts";
import { openaiPolicy } from "../../src/policy/openai.ts";
import { type OpenaiServer, openaiServer, type ServerPlan } from "../support/openai-server.ts";
import { besideHonest, machinery, sumTask } from "./bad-luck-support.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

let baseline: LeakBaseline;
let shared: Machinery;
const servers: OpenaiServer[] = [];

beforeAll(async () => {
  baseline = await leakBaseline();
  shared = machinery();
});

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

afterAll(async () => {
  await shared.close();
  await expectNoLeaks(baseline);
});

/** Works in the sandbox first, so that the fault meets an episode that holds one. */
const working: ServerPlan = {
  kind: "reply",
  reply: { calls: [{ name: "shell", arguments: JSON.stringify({ command: "sleep 321 & echo began" }) }] },
};

const FAULTS: readonly (readonly [string, ServerPlan, string])[] = [
  ["500", { kind: "status", status: 500 }, "endpoint_unavailable"],
  ["429", { kind: "status", status: 429 }, "endpoint_overloaded"],
  ["garbage", { kind: "garbage", body: "<html>no model here</html>" }, "endpoint_invalid"],
  [
    "garbage that is JSON",
    { kind: "garbage", body: '{"choices": 7}', contentType: "application/json" },
    "endpoint_invalid",
  ],
  ["nothing, ever", { kind: "silence" }, "endpoint_unavailable"],
  ["a stream that stalls", { kind: "stall", after: { text: "Well" } }, "endpoint_unavailable"],
  ["a lost connection", { kind: "reset" }, "endpoint_unavailable"],
];

test.each(FAULTS)(
  "an endpoint that answers with %s fails its episode without a reward and stops nobody",
  async (_what, fault, code) => {
    const server = await openaiServer((request) =>
      request.messages.some((message) => message.role === "assistant") ? fault : working,
    );
    servers.push(server);
    const policy = openaiPolicy({
      model: "scripted",
      baseUrl: server.baseUrl,
      keyVariable: null,
      temperature: 1,
      runtime: shared.runtime,
      firstByteMs: 1_000,
      stallMs: 500,
      retriesMax: 1,
      backoffMs: 1,
    });
    const { document } = await besideHonest(shared, sumTask(), policy);
    expect(document.outcome).toMatchObject({ kind: "failed", cause: "infra_during", failure: code });
    expect(document.outcome).not.toHaveProperty("reward");
    expect(shared.pool.stats().lent).toBe(0);
  },
);
