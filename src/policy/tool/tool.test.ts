/** The tools' own checks: every mistake is described by field, and nothing malformed throws. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { greetTask } from "../../../test/support/episode-parts.ts";
import { tinyPool } from "../../../test/support/tiny-sandbox.ts";
import type { Tool, ToolContext } from "../../core/environment.ts";
import type { Json } from "../../core/json.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { editTool } from "./edit.ts";
import { shellTool } from "./shell.ts";
import { submitTool } from "./submit.ts";
import { viewTool } from "./view.ts";

const runtime = systemRuntime();

function contextOf(): ToolContext {
  const pool = tinyPool(runtime);
  const { signal } = new AbortController();
  const { resources: limits, network, workdir } = greetTask();
  const request = {
    attemptId: "a",
    role: "agent",
    fence: 1,
    image: "host",
    isolationMin: "process" as const,
    limits,
    network,
    envVars: {},
    labels: {},
    lifetimeMs: 1000,
  };
  const claimed = pool.claim(request, signal);
  return { sandbox: () => claimed, timeoutMs: 1000, outputBytesMax: 1000, signal, workdir, user: "agent", envVars: {} };
}

async function call(tool: Tool, args: Record<string, Json>, context = contextOf()) {
  const result = await tool.open(() => context).call(args);
  return { ...result, text: new TextDecoder().decode(result.output) };
}

test.each<[Tool, Record<string, Json>, RegExp]>([
  [shellTool(), {}, /needs the field command/],
  [shellTool(), { command: 3 }, /field command of shell must be of type string/],
  [shellTool(), { command: "ls", timeoutMs: "5" }, /field timeoutMs of shell must be of type integer/],
  [shellTool(), { command: "ls", timeoutMs: 0 }, /at least 1/],
  [shellTool(), { command: "ls", timeout: 5 }, /no field "timeout"/],
  [shellTool(), { command: "a\u0000b" }, /NUL/],
  [shellTool(), { command: "x".repeat(200_000) }, /longer than/],
  [submitTool(), { answer: 42 }, /field answer of submit must be of type string/],
  [viewTool(), { path: "a", from: 3, to: 2 }, /must not be below/],
  [editTool(), { path: "a", old: "b" }, /needs the field new/],
])("%o with bad arguments says which field is wrong", async (tool, args, message) => {
  const result = await call(tool, args);
  expect(result).toMatchObject({ isInvalid: true, submitted: null });
  expect(result.text).toMatch(message);
});

test("any arguments at all give a result", async () => {
  const args = fc.dictionary(
    fc.constantFrom("command", "answer", "path", "old", "new", "from", "to", "x"),
    fc.jsonValue(),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(shellTool(), submitTool(), viewTool()), args, async (tool, given) => {
      const result = await call(tool, given as Record<string, Json>);
      expect(result.output).toBeInstanceOf(Uint8Array);
    }),
    { numRuns: 200 },
  );
});

test("submit takes an answer or none", async () => {
  expect(await call(submitTool(), { answer: "42" })).toMatchObject({ submitted: { answer: "42" } });
  expect(await call(submitTool(), {})).toMatchObject({ submitted: { answer: null } });
});

test("view numbers the lines asked for, and says what is not there", async () => {
  const context = contextOf();
  const { files } = await context.sandbox();
  await files.write({ path: "/work/a.txt", bytes: Buffer.from("one\ntwo\nthree\n"), mode: 0o644 });
  expect((await call(viewTool(), { path: "a.txt", from: 2 }, context)).text).toBe("     2\ttwo\n     3\tthree");
  expect((await call(viewTool(), { path: "a.txt", from: 9 }, context)).text).toMatch(/no line 9/);
  expect(await call(viewTool(), { path: "b" }, context)).toMatchObject({ isInvalid: false });
});

test("edit refuses a text that is absent, ambiguous, or a file that exists already, and changes nothing", async () => {
  const context = contextOf();
  const { files } = await context.sandbox();
  await files.write({ path: "/work/a", bytes: Buffer.from("aa b"), mode: 0o644 });
  expect((await call(editTool(), { path: "a", old: "c", new: "" }, context)).text).toMatch(/does not occur/);
  expect((await call(editTool(), { path: "a", old: "a", new: "" }, context)).text).toMatch(/more than once/);
  expect((await call(editTool(), { path: "a", old: "", new: "x" }, context)).text).toMatch(/exists already/);
  expect(await files.read("/work/a", { bytesMax: 100 })).toMatchObject({ value: new TextEncoder().encode("aa b") });
});
