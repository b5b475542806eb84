/** The five calls as a user makes them, and malformed actions of every kind. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { answerTask, greets, greetTask, memory, ruleVerifier } from "../../test/support/episode-parts.ts";
import { tinyPool } from "../../test/support/tiny-sandbox.ts";
import type { Action } from "../core/environment.ts";
import type { Task } from "../core/task.ts";
import { parseArguments } from "../policy/parse-arguments.ts";
import { scriptAction, scriptCall } from "../policy/script-action.ts";
import { shellTool } from "../policy/tool/shell.ts";
import { submitTool } from "../policy/tool/submit.ts";
import { viewTool } from "../policy/tool/view.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openEnvironment } from "./environment.ts";
import { createGrader } from "./grade.ts";

const runtime = systemRuntime();

function open(task: Task) {
  const pool = tinyPool(runtime);
  const verifier = ruleVerifier(greets);
  const grader = createGrader({
    pool,
    verifier,
    verdicts: memory(),
    identity: ({ artifacts }) => artifacts.hash,
    runtime,
  });
  const tools = [shellTool(), viewTool(), submitTool()];
  const environment = openEnvironment({ task, pool, grader, tools, systemText: "Be brief.", runtime });
  return { environment, pool, verifier };
}

const shell = (...commands: string[]): Action =>
  scriptAction(commands.map((command, index) => scriptCall(index, "shell", { command })));

test("the limits are told before the first turn, and nothing is claimed yet", async () => {
  const { environment, pool } = open(greetTask());
  const state = await environment.reset({});
  expect(state.messages).toMatchObject([
    {
      role: "system",
      text: expect.stringMatching(/Limits: 20 turns, 10,000 tokens, 60 s; one command may take 10 s\./),
    },
    { role: "user", text: "Write hello to /work/out." },
  ]);
  expect(state.tools.map((tool) => tool.name)).toEqual(["shell", "view", "submit"]);
  expect(pool.requests).toHaveLength(0);
  await environment.close();
});

test("what a task offers beside its tools is told before the first turn", async () => {
  const { environment } = open({ ...greetTask(), skillsFolder: "/skills" });
  const { messages } = await environment.reset({});
  expect(messages[0]).toMatchObject({
    text: expect.stringMatching(/^Be brief\.\n\nSkills lie in \/skills\.\n\nLimits: /),
  });
  await environment.close();
});

test("next is pure: the same result gives the same state, also later", async () => {
  const { environment } = open(greetTask());
  await environment.reset({});
  const first = await environment.execute(shell("print 1"));
  const state = environment.next(first);
  await environment.execute(shell("print 2"));
  expect(environment.next(first)).toEqual(state);
  expect(state.messages).toHaveLength(4);
  await environment.close();
});

test("calls after submit are not run", async () => {
  const { environment } = open(greetTask());
  await environment.reset({});
  const calls = [scriptCall(0, "submit", {}), scriptCall(1, "shell", { command: "lose" })];
  const result = await environment.execute(scriptAction(calls));
  expect(result).toMatchObject({ stopReason: "submitted", observations: [{ tool: "submit" }] });
  expect(environment.next(result).done).toBe(true);
  expect((await environment.verify()).total).toBe(0);
});

test("of more than sixteen calls in one action, the rest is answered and not run", async () => {
  const { environment } = open(greetTask());
  await environment.reset({});
  const commands = Array.from({ length: 18 }, (_value, index) => `print ${index}`);
  const { observations } = await environment.execute(shell(...commands));
  expect(observations).toHaveLength(18);
  expect(observations.slice(16).every((seen) => seen.isInvalid && seen.text.startsWith("Not run"))).toBe(true);
  await environment.close();
});

test("the budget of output is one a turn, and the whole of what was cut is in a file the policy may read", async () => {
  const task = greetTask();
  const { environment } = open({ ...task, limits: { ...task.limits, outputBytesPerTurn: 1000 } });
  await environment.reset({});
  const { observations } = await environment.execute(shell("flood 900", "flood 5000", "read /run/sandlot/output/1"));
  expect(observations.map((seen) => seen.bytesLeftOut)).toEqual([0, 4900, 5000]);
  expect(observations[2]?.rawBytes).toBe(5000);
  await environment.close();
});

test("verify and close give the sandbox back, and may be called again", async () => {
  const { environment, pool } = open(greetTask());
  await environment.reset({});
  await environment.execute(shell("write /work/out hello"));
  expect(pool.lent()).toBe(1);
  const verdict = await environment.verify();
  expect(verdict.total).toBe(1);
  expect(await environment.verify()).toBe(verdict);
  expect(pool.lent()).toBe(0);
  await environment.close();
  await environment.close();
});

test("the folder contract takes every regular file under the work folder", async () => {
  const contract = { state: "workdir", files: [], bytesMax: 1000, entriesMax: 10 } as const;
  const files = [{ path: "/work/sub/a", bytes: Buffer.from("a"), mode: 0o755 }];
  const { environment } = open(greetTask({ contract, files }));
  await environment.reset({});
  await environment.execute(shell("write /work/out hello"));
  expect((await environment.verify()).total).toBe(1);
});

test("any malformed action is an observation; it never throws, and its sandbox comes back", async () => {
  const call = fc.record({
    id: fc.string(),
    name: fc.oneof(fc.string(), fc.constantFrom("shell", "submit", "view", "__proto__", "constructor")),
    raw: fc.oneof(
      fc.string(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.constant('{"__proto__":{}}'),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(call, { maxLength: 20 }), { maxLength: 6 }), async (turns) => {
      const { environment, pool } = open(answerTask());
      let state = await environment.reset({});
      for (const turn of turns) {
        if (state.done) break;
        const calls = turn.map(({ id, name, raw }) => ({ id, name, argumentsRaw: raw, ...parseArguments(raw) }));
        const result = await environment.execute(scriptAction(calls));
        expect(result.observations.length).toBeGreaterThan(0);
        state = environment.next(result);
      }
      await environment.verify();
      expect(pool.lent()).toBe(0);
    }),
    { numRuns: 150 },
  );
});
