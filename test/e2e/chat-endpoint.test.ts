/** A model behind a chat endpoint solves a folder task with tools, in a real sandbox, graded in another one. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { openaiPolicy, openEnvironments, readTaskFolder, systemRuntime } from "../../src/index.ts";
import { openaiServer } from "../support/openai-server.ts";

test("a scripted model solves a shipped task over the chat protocol, through two planted faults", async () => {
  const task = await readTaskFolder(join(import.meta.dirname, "../../tasks/shell-files/tidy-shell-files"));
  const server = await openaiServer([
    { kind: "status", status: 500 },
    { kind: "status", status: 429, headers: { "retry-after": "0" } },
    {
      kind: "reply",
      reply: (request) => {
        const turn = request.messages.filter((message) => message.role === "assistant").length;
        const command = task.oracle.commands[turn];
        if (command === undefined) return { calls: [{ name: "submit", arguments: "{}" }] };
        return { text: "Next.", calls: [{ name: "shell", arguments: JSON.stringify({ command }) }] };
      },
    },
  ]);
  const environments = openEnvironments();
  const environment = environments.open({ ...task, files: [...task.files, ...task.oracle.files] });
  const policy = openaiPolicy({
    model: "scripted",
    baseUrl: server.baseUrl,
    keyVariable: null,
    temperature: 0,
    runtime: systemRuntime(),
    backoffMs: 1,
  });
  try {
    let state = await environment.reset({});
    while (!state.done) {
      const action = await policy.act(state, { episodeId: "e2e", seed: 1n, signal: new AbortController().signal });
      state = environment.next(await environment.execute(action));
    }
    expect(state.stopReason).toBe("submitted");
    expect(await environment.verify()).toMatchObject({ total: 1 });
    expect(server.requests.length).toBe(2 + task.oracle.commands.length + 1);
    expect(server.requests.at(-1)?.messages.some((message) => message.role === "tool")).toBe(true);
  } finally {
    await environment.close();
    await environments.close();
    await server.close();
  }
});
