/** The episode loop under scripted policies: every stop reason, every limit, every class of failure, and what is kept. */
import { afterEach, expect, test } from "vitest";
import { answerTask, greets, greetTask, memory, planOf, ruleVerifier } from "../../test/support/episode-parts.ts";
import { type TinyPool, tinyPool } from "../../test/support/tiny-sandbox.ts";
import type { Action, ToolCall } from "../core/environment.ts";
import type { EpisodePlan } from "../core/episode.ts";
import { Failure, type FailureCode } from "../core/errors.ts";
import type { Policy } from "../core/policy.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task } from "../core/task.ts";
import type { TrajectoryRecord } from "../core/trajectory.ts";
import type { Verifier } from "../core/verifier.ts";
import { nopPolicy } from "../policy/nop.ts";
import { scriptPolicy } from "../policy/oracle.ts";
import { scriptAction, scriptCall } from "../policy/script-action.ts";
import { type ScriptedAnswer, scriptedPolicy } from "../policy/scripted.ts";
import { shellTool } from "../policy/tool/shell.ts";
import { submitTool } from "../policy/tool/submit.ts";
import { systemRuntime } from "../runtime/system.ts";
import { createEpisodeRunner } from "./run-episode.ts";

const runtime = systemRuntime();
const pools: TinyPool[] = [];

afterEach(() => {
  for (const pool of pools.splice(0)) expect(pool.lent()).toBe(0);
});

interface Parts {
  readonly pool?: SandboxPool;
  readonly verifier?: Verifier;
  readonly cancel?: AbortSignal;
  readonly plan?: Partial<EpisodePlan>;
}

function runnerOf(parts: Parts = {}) {
  return createEpisodeRunner({
    pool: parts.pool ?? trackedPool(),
    verifier: parts.verifier ?? ruleVerifier(greets),
    verdicts: memory(),
    identity: ({ artifacts, gradingSeed }) => `${artifacts.hash}/${gradingSeed}`,
    tools: [shellTool(), submitTool()],
    systemText: "Be brief.",
    runtime,
    code: { sandlot: "0.0.0", commit: null },
  });
}

function trackedPool(options?: { readonly failClaim?: boolean }): TinyPool {
  const pool = tinyPool(runtime, options);
  pools.push(pool);
  return pool;
}

function run(task: Task, policy: Policy, parts: Parts = {}): Promise<TrajectoryRecord> {
  return runnerOf(parts)(planOf(task, policy, parts.plan), parts.cancel ?? new AbortController().signal);
}

const shell = (command: string): Action => scriptAction([scriptCall(0, "shell", { command })]);
const submit = (answer?: string): Action =>
  scriptAction([scriptCall(0, "submit", answer === undefined ? {} : { answer })]);
const steps = (...list: ScriptedAnswer[]): Policy => scriptedPolicy(list);
const fails = (code: FailureCode) => (): never => {
  throw new Failure(code, `It failed with ${code}.`);
};

function limited(limits: Partial<Task["limits"]>): Task {
  const task = greetTask();
  return { ...task, limits: { ...task.limits, ...limits } };
}

test("an episode that solves the task is graded as completed with reward 1", async () => {
  const { document } = await run(greetTask(), scriptPolicy(greetTask().oracle));
  expect(document.outcome).toMatchObject({
    kind: "graded",
    cause: "completed",
    stopReason: "submitted",
    reward: 1,
    isTruncated: false,
  });
  expect(document.turns).toHaveLength(2);
  expect(document.artifacts).toMatchObject([{ path: "/work/out", bytes: 5 }]);
});

test("doing nothing earns 0, graded on the state the task began with", async () => {
  const { document } = await run(greetTask(), nopPolicy());
  expect(document.outcome).toMatchObject({ kind: "graded", stopReason: "submitted", reward: 0 });
  expect(document.collected).toEqual({ missing: ["/work/out"], visible: [], refused: [] });
});

test("the sandbox the agent acted in is gone before grading, which gets another", async () => {
  const pool = trackedPool();
  const rule = ruleVerifier(greets);
  const lent: number[] = [];
  const verifier: Verifier = {
    version: rule.version,
    grade: async (request, sandboxes) => {
      const [acting] = pool.requests;
      if (acting === undefined) throw new Error("the agent claimed no sandbox");
      const sandbox = await sandboxes.claim({ ...acting, role: "verifier" }, request.signal);
      lent.push(pool.lent());
      const left = await sandbox.files.read("/work/out", { bytesMax: 10 });
      await sandbox.destroy();
      expect(left).toMatchObject({ error: "missing" });
      return rule.grade(request, sandboxes);
    },
  };
  const { document } = await run(greetTask(), scriptPolicy(greetTask().oracle), { pool, verifier });
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
  expect(pool.requests.map(({ role }) => role)).toEqual(["agent", "verifier"]);
  expect(lent).toEqual([1]);
});

test("a task whose only action is an answer never claims a sandbox", async () => {
  const pool = trackedPool();
  const verifier = ruleVerifier((artifacts) => (artifacts.answer === "42" ? 1 : 0));
  const { document, bodies } = await run(answerTask(), steps(submit("42")), { pool, verifier });
  expect(document.outcome).toMatchObject({ reward: 1 });
  expect(pool.requests).toHaveLength(0);
  expect(document.sandbox).toBeNull();
  expect(Buffer.from(bodies.get(document.answerBlob ?? "") ?? []).toString()).toBe("42");
});

test("an answer that was never given is nothing to grade and earns 0 without a verifier", async () => {
  const verifier = ruleVerifier(() => 1);
  const { document } = await run(answerTask(), nopPolicy(), { verifier });
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 0 });
  expect(verifier.grades).toBe(0);
});

test.each<[string, Task, Policy, object]>([
  [
    "turn_limit",
    limited({ turnsMax: 2 }),
    steps(shell("write /work/out hello"), shell("print 2")),
    { reward: 1, isTruncated: true },
  ],
  [
    "token_limit",
    limited({ tokensMax: 10 }),
    steps({ ...shell("print 1"), sampledTokens: 11 }),
    { reward: 0, isTruncated: true },
  ],
  ["token_limit", greetTask(), steps({ ...scriptAction([]), stopReason: "token_limit" }), { isTruncated: true }],
  ["context_limit", greetTask(), steps({ ...scriptAction([]), stopReason: "context_limit" }), { isTruncated: true }],
  [
    "context_limit",
    greetTask(),
    steps(shell("write /work/out hello"), fails("policy_context_exceeded")),
    { reward: 1 },
  ],
  ["time_limit", limited({ agentMs: 40 }), steps(shell("sleep 5000")), { isTruncated: true }],
  [
    "time_limit",
    limited({ agentMs: 40 }),
    steps((_s, c) => runtime.sleep(60_000, c.signal).then(() => submit())),
    { reward: 0 },
  ],
  [
    "invalid_calls",
    greetTask(),
    steps(scriptAction([], "I will think about it.")),
    { cause: "policy_fault", reward: 0 },
  ],
  ["invalid_calls", greetTask(), steps(scriptAction([scriptCall(0, "fly", {})])), { cause: "policy_fault" }],
  ["repetition_limit", greetTask(), steps(shell("print again")), { cause: "policy_fault", reward: 0 }],
  ["sandbox_killed", greetTask(), steps(shell("die")), { cause: "policy_fault", reward: 0 }],
  ["memory_limit", greetTask(), steps(shell("oom"), shell("die")), { cause: "policy_fault", reward: 0 }],
  [
    "disk_limit",
    greetTask(),
    steps(shell(`write /work/out ${"x".repeat(20_000)}`), submit()),
    { cause: "policy_fault", reward: 0 },
  ],
])("%s ends the episode in its class", async (stopReason, task, policy, outcome) => {
  const { document } = await run(task, policy);
  expect(document.outcome).toMatchObject({ kind: "graded", stopReason, ...outcome });
});

test("an action beyond the token limit is kept and not run", async () => {
  const policy = steps({ ...shell("write /work/out hello"), sampledTokens: 11 });
  const { document } = await run(limited({ tokensMax: 10 }), policy);
  expect(document.outcome).toMatchObject({ stopReason: "token_limit", reward: 0 });
  expect(document.turns).toMatchObject([{ sampledTokens: 11, toolCalls: [] }]);
});

test("time the policy takes to answer is charged to the agent, turn by turn", async () => {
  const policy = steps((state, context) => runtime.sleep(30, context.signal).then(() => shell(`print ${state.turn}`)));
  const { document } = await run(limited({ agentMs: 100 }), policy);
  expect(document.outcome).toMatchObject({ stopReason: "time_limit" });
});

test("a fault of the policy earns 0 even when the state would have passed", async () => {
  const { document } = await run(greetTask(), steps(shell("write /work/out hello"), shell("print again")));
  expect(document.outcome).toMatchObject({ stopReason: "repetition_limit", reward: 0 });
  expect(document.verification).not.toBeNull();
});

test.each<[FailureCode, string]>([
  ["endpoint_unavailable", "infra_before"],
  ["endpoint_invalid", "infra_before"],
])("an endpoint that fails with %s before the first turn carries no reward", async (code, cause) => {
  const { document } = await run(greetTask(), steps(fails(code)));
  expect(document.outcome).toEqual({ kind: "failed", cause, failure: code, message: `It failed with ${code}.` });
});

test("a failure after the first turn keeps the turns so far and gives the sandbox back", async () => {
  const pool = trackedPool();
  const { document } = await run(greetTask(), steps(shell("print 1"), fails("endpoint_unavailable")), { pool });
  expect(document.outcome).toMatchObject({ kind: "failed", cause: "infra_during", failure: "endpoint_unavailable" });
  expect(document.turns).toHaveLength(1);
  expect(pool.lent()).toBe(0);
});

test("a turn that fails half-way is stored as far as it came", async () => {
  const calls: ToolCall[] = ["print one", "lose", "print three"].map((command, index) =>
    scriptCall(index, "shell", { command }),
  );
  const { document, bodies } = await run(greetTask(), steps(scriptAction(calls)));
  expect(document.outcome).toMatchObject({ kind: "failed", failure: "sandbox_lost" });
  expect(document.turns[0]?.toolCalls).toHaveLength(1);
  const raw = bodies.get(document.turns[0]?.toolCalls[0]?.observation.rawBlob ?? "");
  expect(Buffer.from(raw ?? []).toString()).toBe("one");
});

test("what an endpoint had answered when its call broke is kept", async () => {
  const policy = steps((_state, context) => {
    context.onPartial?.('{"half":');
    throw new Failure("endpoint_invalid", "The stream was cut.");
  });
  const { document, bodies } = await run(greetTask(), policy);
  const turn = document.turns[0];
  expect(Buffer.from(bodies.get(turn?.responseBlob ?? "") ?? []).toString()).toBe('{"half":');
});

test("a sandbox that cannot be made is an infrastructure failure, not a bad answer", async () => {
  const { document } = await run(greetTask(), steps(shell("print 1")), { pool: trackedPool({ failClaim: true }) });
  expect(document.outcome).toMatchObject({ kind: "failed", cause: "infra_before", failure: "sandbox_unavailable" });
});

test("a set-up that fails is the task's failure and says what it printed", async () => {
  const { document } = await run(greetTask({ setup: "exit 3" }), steps(shell("print 1")));
  expect(document.outcome).toMatchObject({ kind: "failed", failure: "task_invalid" });
  expect(document.outcome).toHaveProperty("message", expect.stringContaining("no good"));
});

test("a verifier fault is graded again from the frozen state, and the agent does not run again", async () => {
  let tries = 0;
  const verifier = ruleVerifier((artifacts) => {
    tries += 1;
    if (tries < 3) throw new Failure("verifier_crashed", "The runner died.");
    return greets(artifacts);
  });
  const { document } = await run(greetTask(), scriptPolicy(greetTask().oracle), { verifier });
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
  expect(tries).toBe(3);
});

test("a verifier that never works is a verifier fault, and no reward of 0", async () => {
  const verifier = ruleVerifier(() => {
    throw new Failure("verifier_crashed", "The runner died.");
  });
  const { document } = await run(greetTask(), scriptPolicy(greetTask().oracle), { verifier });
  expect(document.outcome).toMatchObject({ kind: "failed", cause: "verifier_fault", failure: "verifier_crashed" });
  expect(verifier.grades).toBe(3);
});

test("siblings with equal states share one grading, and the others are marked as reused", async () => {
  const verifier = ruleVerifier(async (artifacts) => {
    await runtime.sleep(20);
    return greets(artifacts);
  });
  const runEpisode = runnerOf({ verifier });
  const { signal } = new AbortController();
  const plans = [0, 1, 2, 3].map((member) =>
    planOf(greetTask(), scriptPolicy(greetTask().oracle), { member, episodeId: `run-${member}` }),
  );
  const records = await Promise.all(plans.map((plan) => runEpisode(plan, signal)));
  expect(verifier.grades).toBe(1);
  expect(records.filter((record) => record.document.verification?.isReused)).toHaveLength(3);
  const forced = await runEpisode(
    { ...planOf(greetTask(), scriptPolicy(greetTask().oracle)), mayReuseVerdict: false },
    signal,
  );
  expect(verifier.grades).toBe(2);
  expect(forced.document.verification?.isReused).toBe(false);
});

test("a sibling that is cancelled while grading is shared does not stop the others", async () => {
  const verifier = ruleVerifier(async (artifacts, request) => {
    await runtime.sleep(40, request.signal);
    return greets(artifacts);
  });
  const runEpisode = runnerOf({ verifier });
  const first = new AbortController();
  const leaving = runEpisode(planOf(greetTask(), scriptPolicy(greetTask().oracle)), first.signal);
  const staying = runEpisode(
    planOf(greetTask(), scriptPolicy(greetTask().oracle), { episodeId: "run-1" }),
    new AbortController().signal,
  );
  await runtime.sleep(15);
  first.abort("user");
  expect((await leaving).document.outcome).toEqual({ kind: "cancelled", cause: "user" });
  expect((await staying).document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});

test.each([
  ["stale", "stale"],
  [new Failure("superseded", "The fence moved on."), "stale"],
  [undefined, "run_ended"],
])("an episode aborted with %s is cancelled, keeps its turns and gives its sandbox back", async (reason, cause) => {
  const controller = new AbortController();
  const policy = steps(shell("print 1"), () => {
    controller.abort(reason);
    return shell("sleep 5000");
  });
  const { document } = await run(greetTask(), policy, { cancel: controller.signal });
  expect(document.outcome).toEqual({ kind: "cancelled", cause });
  expect(document.turns.length).toBeGreaterThanOrEqual(1);
});

test("an action aborted in its first call keeps that call and does not run the rest", async () => {
  const controller = new AbortController();
  const pool = trackedPool();
  const calls = [scriptCall(0, "shell", { command: "sleep 5000" }), scriptCall(1, "shell", { command: "print 2" })];
  const policy = steps(async () => {
    runtime.timer(10, () => controller.abort("user"));
    return scriptAction(calls);
  });
  const { document } = await run(greetTask(), policy, { cancel: controller.signal, pool });
  expect(document.outcome).toEqual({ kind: "cancelled", cause: "user" });
  expect(document.turns[0]?.toolCalls.map((call) => call.id)).toEqual(["call-0"]);
});

test("a policy that never answers and ignores its signal ends at the agent's time limit", async () => {
  const { document } = await run(
    limited({ agentMs: 30 }),
    steps(() => new Promise<never>(() => undefined)),
  );
  expect(document.outcome).toMatchObject({ kind: "graded", stopReason: "time_limit", reward: 0 });
});

test("an episode over its own deadline while it is graded is a verifier fault", async () => {
  const verifier = ruleVerifier((_artifacts, request) => runtime.sleep(60_000, request.signal).then(() => 1));
  const { document } = await run(limited({ episodeMs: 60, gradeMs: 30 }), steps(submit()), { verifier });
  expect(document.outcome).toMatchObject({ kind: "failed", cause: "verifier_fault", failure: "verifier_timeout" });
});

test("a bug in a policy is our failure and does not throw out of the runner", async () => {
  const policy = steps(() => {
    throw new TypeError("undefined is not a function");
  });
  const { document } = await run(greetTask(), policy);
  expect(document.outcome).toMatchObject({ kind: "failed", cause: "infra_before", failure: "unexpected" });
});

test("each observation ends with how the call ended and what is left", async () => {
  const { document, bodies } = await run(greetTask(), steps(shell("exit 1"), submit()));
  const seen = Buffer.from(bodies.get(document.turns[0]?.toolCalls[0]?.observation.contentBlob ?? "") ?? []).toString();
  expect(seen).toMatch(/^no good\nexit 1 · \d+\.\d s · left: 19 turns, 10,000 tokens, \d+ s$/);
});

test("a record names its task, its seeds, the policy versions and the code it came from", async () => {
  const task = greetTask();
  const plan = { samplingSeed: 11n, gradingSeed: 12n, recipeHash: "f00d" };
  const { document } = await run(task, scriptedPolicy([submit()], { version: 3 }), { plan });
  expect(document).toMatchObject({
    task: { key: task.key, hash: task.hash, agentHash: task.agentHash, verifierHash: task.verifierHash },
    seeds: { sampling: "11", verifier: "12" },
    policy: { versionFirst: 3, versionLast: 3 },
    code: { sandlot: "0.0.0", commit: null, recipeHash: "f00d" },
  });
});

test("the node chain, bodies and timing of a record hold together", async () => {
  const { document, bodies } = await run(greetTask(), scriptPolicy(greetTask().oracle));
  for (const [index, node] of document.nodes.entries()) {
    expect(node.parent).toBe(index === 0 ? null : document.nodes[index - 1]?.hash);
    expect(bodies.has(node.body)).toBe(true);
    expect(node.sampled).toBe(node.role === "policy");
  }
  expect(document.branches).toEqual([{ leaf: document.nodes.at(-1)?.hash, reason: "main", trainable: false }]);
  expect(Object.keys(document.timing).sort()).toEqual(["boot", "freeze", "model", "queue", "setup", "tool", "verify"]);
});
