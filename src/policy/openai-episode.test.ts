/** Whole episodes behind a faulty endpoint: each planted fault ends in its class, with the turns before it kept. */
import { afterEach, expect, test } from "vitest";
import { greets, greetTask, memory, planOf, ruleVerifier } from "../../test/support/episode-parts.ts";
import { type ModelReply, type OpenaiServer, openaiServer, type ServerPlan } from "../../test/support/openai-server.ts";
import { tinyPool } from "../../test/support/tiny-sandbox.ts";
import { createEpisodeRunner } from "../episode/run-episode.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openaiPolicy } from "./openai.ts";
import { shellTool } from "./tool/shell.ts";
import { submitTool } from "./tool/submit.ts";

const runtime = systemRuntime();
const servers: OpenaiServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const writing: ModelReply = {
  calls: [{ name: "shell", arguments: JSON.stringify({ command: "write /work/out hello" }) }],
};
const submitting: ModelReply = { text: "Done.", calls: [{ name: "submit", arguments: "" }] };
const reply = (model: ModelReply): ServerPlan => ({ kind: "reply", reply: model });

/** Plan by turn, not by request, so that a retry on a busy machine meets the same plan; the last one is repeated. */
async function run(plans: readonly [ServerPlan, ...ServerPlan[]]) {
  const server = await openaiServer((request) => {
    const turn = request.messages.filter((message) => message.role === "assistant").length;
    return plans[turn] ?? plans.at(-1) ?? plans[0];
  });
  servers.push(server);
  const pool = tinyPool(runtime);
  const runEpisode = createEpisodeRunner({
    pool,
    verifier: ruleVerifier(greets),
    verdicts: memory(),
    identity: ({ artifacts }) => artifacts.hash,
    tools: [shellTool(), submitTool()],
    systemText: "Be brief.",
    runtime,
    code: { sandlot: "0.0.0", commit: null },
  });
  const policy = openaiPolicy({
    model: "scripted",
    baseUrl: server.baseUrl,
    keyVariable: null,
    temperature: 1,
    runtime,
    firstByteMs: 500,
    stallMs: 500,
    retriesMax: 1,
    backoffMs: 1,
  });
  const record = await runEpisode(planOf(greetTask(), policy), new AbortController().signal);
  expect(pool.lent()).toBe(0);
  return record;
}

test("a healthy endpoint solves the task, and its raw answers are in the record", async () => {
  const { document, bodies } = await run([reply(writing), reply(submitting)]);
  expect(document.outcome).toMatchObject({ kind: "graded", cause: "completed", reward: 1 });
  const raw = Buffer.from(bodies.get(document.turns[0]?.responseBlob ?? "") ?? []).toString();
  expect(raw).toMatch(/^data: \{.*\n\ndata: \[DONE\]\n\n$/s);
});

test.each<[string, ServerPlan, string]>([
  ["500", { kind: "status", status: 500 }, "endpoint_unavailable"],
  ["429", { kind: "status", status: 429 }, "endpoint_overloaded"],
  ["silence", { kind: "silence" }, "endpoint_unavailable"],
  ["a stall", { kind: "stall", after: writing }, "endpoint_unavailable"],
  ["a cut stream", { kind: "cut", after: writing }, "endpoint_unavailable"],
  ["garbage", { kind: "garbage", body: "<html>" }, "endpoint_invalid"],
])(
  "%s is an infrastructure failure without a reward, before the first turn and after it",
  async (_name, fault, failure) => {
    const before = await run([fault]);
    expect(before.document.outcome).toMatchObject({ kind: "failed", cause: "infra_before", failure });
    const during = await run([reply(writing), fault]);
    expect(during.document.outcome).toMatchObject({ kind: "failed", cause: "infra_during", failure });
    expect(during.document.turns[0]?.toolCalls[0]).toMatchObject({ name: "shell", exitCode: 0 });
  },
);

test("a context that is full is the policy's limit: its state is graded", async () => {
  const body = JSON.stringify({ error: { message: "no", code: "context_length_exceeded" } });
  const { document } = await run([reply(writing), { kind: "status", status: 400, body }]);
  expect(document.outcome).toMatchObject({ kind: "graded", stopReason: "context_limit", reward: 1, isTruncated: true });
});

test("a model that only talks is told so, and stopped after five turns", async () => {
  const { document, bodies } = await run([reply({ text: "I think, therefore I am." })]);
  expect(document.outcome).toMatchObject({ kind: "graded", stopReason: "invalid_calls", reward: 0 });
  expect(document.turns).toHaveLength(5);
  const seen = Buffer.from(bodies.get(document.turns[0]?.toolCalls[0]?.observation.contentBlob ?? "") ?? []).toString();
  expect(seen).toContain("No tool was called.");
});
