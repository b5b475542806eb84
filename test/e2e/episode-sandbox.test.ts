/** The episode loop in real sandboxes: what persists from turn to turn, and what a greedy or hostile agent gets. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Action } from "../../src/core/environment.ts";
import type { SandboxProvider } from "../../src/core/sandbox.ts";
import type { SandboxPool } from "../../src/core/sandbox-pool.ts";
import type { Task } from "../../src/core/task.ts";
import { createEpisodeRunner } from "../../src/episode/run-episode.ts";
import { scriptAction, scriptCall } from "../../src/policy/script-action.ts";
import { type ScriptedAnswer, scriptedPolicy } from "../../src/policy/scripted.ts";
import { editTool } from "../../src/policy/tool/edit.ts";
import { shellTool } from "../../src/policy/tool/shell.ts";
import { submitTool } from "../../src/policy/tool/submit.ts";
import { viewTool } from "../../src/policy/tool/view.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { sandboxPool } from "../../src/sandbox/pool.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { greets, greetTask, memory, planOf, ruleVerifier } from "../support/episode-parts.ts";

const runtime = systemRuntime();
let provider: SandboxProvider;
let pool: SandboxPool;

beforeAll(() => {
  provider = namespaceProvider({ runtime });
  pool = sandboxPool({ provider, runtime, lentMax: 4, creatingMax: 2, readyMax: 0 });
});

afterAll(async () => {
  await pool.drain();
  expect(await provider.list()).toEqual([]);
  await provider.close();
});

const shell = (...commands: string[]): Action =>
  scriptAction(commands.map((command, index) => scriptCall(index, "shell", { command })));
const submit = scriptAction([scriptCall(0, "submit", {})]);

async function run(steps: readonly ScriptedAnswer[], change: Partial<Task> = {}) {
  const verifier = ruleVerifier(greets);
  const runEpisode = createEpisodeRunner({
    pool,
    verifier,
    verdicts: memory(),
    identity: ({ artifacts }) => artifacts.hash,
    tools: [shellTool(), viewTool(), editTool(), submitTool()],
    systemText: "Be brief.",
    runtime,
    code: { sandlot: "0.0.0", commit: null },
  });
  const plan = planOf(greetTask(change), scriptedPolicy(steps), { episodeId: runtime.id() });
  const { document, bodies } = await runEpisode(plan, new AbortController().signal);
  const seen = document.turns.flatMap((turn) =>
    turn.toolCalls.map((call) => Buffer.from(bodies.get(call.observation.rawBlob) ?? []).toString()),
  );
  return { document, seen };
}

test("folder, variables and files persist from turn to turn, as the agent's own user", async () => {
  const { document, seen } = await run([
    shell("mkdir deep && cd deep && NAME=hello"),
    shell("pwd; id -un; echo -n $NAME > /work/out; cat /work/out"),
    submit,
  ]);
  expect(seen[1]).toBe("/work/deep\nagent\nhello");
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
  expect(document.sandbox).toMatchObject({ provider: "namespace", network: "off" });
});

test("view and edit work on the agent's files, with the agent's rights", async () => {
  const { document, seen } = await run([
    scriptAction([
      scriptCall(0, "edit", { path: "out", old: "", new: "help" }),
      scriptCall(1, "edit", { path: "out", old: "p", new: "lo" }),
      scriptCall(2, "view", { path: "out" }),
      scriptCall(3, "edit", { path: "/etc/passwd", old: "", new: "" }),
      scriptCall(4, "edit", { path: "/etc/forged", old: "", new: "x" }),
      scriptCall(5, "view", { path: "." }),
      scriptCall(6, "view", { path: "/root" }),
    ]),
    submit,
  ]);
  expect(seen[2]).toBe("     1\thello");
  expect(seen[3]).toMatch(/exists already/);
  expect(seen[4]).toMatch(/could not be written/);
  expect(seen[5]).toBe("out (5 bytes)");
  expect(seen[6]).toBe("/root: you may not read it.");
  expect(document.outcome).toMatchObject({ reward: 1 });
});

test("a command over its time is stopped with all it started, and the episode goes on", async () => {
  const limits = { ...greetTask().limits, commandMs: 300 };
  const { document } = await run([shell("sleep 60 & sleep 60"), shell("echo -n hello > /work/out"), submit], {
    limits,
  });
  expect(document.turns[0]?.toolCalls[0]).toMatchObject({ timedOut: true, exitCode: null });
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});

test("an agent that signals all it can reaches its own processes alone, and its state is graded", async () => {
  const { document } = await run([
    shell("echo -n hello > /work/out; kill -9 1; kill -9 -1; kill -9 $$"),
    shell("echo back"),
    submit,
  ]);
  expect(document.turns[0]?.toolCalls[0]?.exitCode).toBeNull();
  expect(document.turns[1]?.toolCalls[0]?.exitCode).toBe(0);
  expect(document.outcome).toMatchObject({ kind: "graded", stopReason: "submitted", reward: 1 });
});

test("a command that meets the memory limit is told so, and the episode goes on", async () => {
  const { document, seen } = await run([
    shell("python3 -c 'bytearray(1 << 30)'"),
    shell("echo -n hello > /work/out"),
    submit,
  ]);
  expect(document.turns[0]?.toolCalls[0]).toMatchObject({ oomKilled: true });
  expect(seen[0]).toContain("the memory limit was reached");
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});

test("a disk that is full fails the command, not the episode", async () => {
  const { document } = await run([shell("echo -n hello > /work/out; head -c 200000000 /dev/zero > /work/big"), submit]);
  expect(document.turns[0]?.toolCalls[0]?.exitCode).toBe(1);
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});

test("a flood of output is cut with an exact count, and the whole is in a file", async () => {
  const { document, seen } = await run([
    shell("head -c 300000 /dev/zero | tr '\\0' x"),
    shell("wc -c < /run/sandlot/output/1"),
    submit,
  ]);
  const call = document.turns[0]?.toolCalls[0];
  expect(call?.observation).toMatchObject({ bytes: 300_000, truncatedBytes: 300_000 - 65_536 });
  expect(seen[1]?.trim()).toBe("300000");
});

test("a gigabyte of output costs the policy its turn and nobody else anything, and is counted to the byte", async () => {
  const limits = { ...greetTask().limits, agentMs: 120_000, commandMs: 120_000, episodeMs: 240_000 };
  const turns = [shell("head -c 1G /dev/zero"), shell("echo -n hello > /work/out"), submit];
  const { document } = await run(turns, { limits });
  expect(document.turns[0]?.toolCalls[0]?.observation.bytes).toBe(2 ** 30);
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});

test("commands that fork without end or ignore TERM are stopped at their time, and the episode goes on", async () => {
  const limits = { ...greetTask().limits, commandMs: 500 };
  const { document } = await run(
    [
      shell("bomb() { bomb | bomb & }; bomb; wait"),
      shell("trap '' TERM; while true; do :; done"),
      shell("echo -n hello > /work/out"),
      submit,
    ],
    { limits },
  );
  expect(document.turns[1]?.toolCalls[0]).toMatchObject({ timedOut: true });
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});

test("a link in the place of an artifact is not followed out", async () => {
  const { document } = await run([shell("echo -n hello > /tmp/real; ln -s /tmp/real /work/out"), submit]);
  expect(document.artifacts).toEqual([]);
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 0 });
});

test("a process left behind cannot change the state once it is frozen", async () => {
  const { document } = await run([
    shell(
      "echo -n hello > /work/out; (while true; do echo -n hello > /work/out.new; mv /work/out.new /work/out; done) &",
    ),
    submit,
  ]);
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});
