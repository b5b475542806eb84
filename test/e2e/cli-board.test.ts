/** The board on a real terminal (a pseudo-terminal made by `script`), and its plain twin without one. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cleanEnvVars, ROOT, runProgram } from "./run-program.ts";

const SCRIPT = "/usr/bin/script";
const ESCAPE = "\u001b";

/** Watches a made-up run of three steps through the same door as `train`, then prints one line of result. */
const PROGRAM = `
import { cliContext } from ${JSON.stringify(join(ROOT, "src", "cli", "context.ts"))};
import { watchRun } from ${JSON.stringify(join(ROOT, "src", "cli", "watch-run.ts"))};
const context = cliContext({ json: process.argv[1] === "json" });
await watchRun(context, "train", async ({ onEvent }) => {
  onEvent({ kind: "run-started", runId: "RUN", name: "made-up", folder: "/data", isResumed: false });
  onEvent({ kind: "phase-entered", phase: "rl", total: 3, note: "3 steps" });
  for (let step = 1; step <= 3; step += 1) {
    onEvent({ kind: "step-taken", phase: "rl", step, metrics: { reward: step / 10 } });
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  onEvent({ kind: "run-ended", runId: "RUN", state: "done" });
});
context.print("the result");
context.json({ ok: true });
`;

const COMMAND = [process.execPath, "--input-type=module", "-e", PROGRAM];

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}

async function onTerminal(envVars: Record<string, string>, words: readonly string[] = []): Promise<string> {
  const line = `stty cols 80 rows 24; ${quoted([...COMMAND, ...words])}`;
  const ended = await runProgram(SCRIPT, ["-qec", line, "/dev/null"], {
    envVars: cleanEnvVars({ TERM: "xterm", ...envVars }),
  });
  expect(ended.exitCode).toBe(0);
  return ended.stdout;
}

test("on a terminal the board redraws itself, and leaves the cursor and its last frame", async ({ skip }) => {
  if (!existsSync(SCRIPT)) skip("needs the program script, to make a terminal");
  const text = await onTerminal({});
  expect(text).toContain(`${ESCAPE}[?25l`);
  expect(text.lastIndexOf(`${ESCAPE}[?25h`)).toBeGreaterThan(text.lastIndexOf(`${ESCAPE}[?25l`));
  const last = text.slice(text.lastIndexOf("sandlot"));
  expect(last).toContain("made-up");
  expect(last).toContain("0.300");
  expect(last).toContain("▁▅█");
  expect(last).toContain("the result");
});

test("NO_COLOR draws the board without any color", async ({ skip }) => {
  if (!existsSync(SCRIPT)) skip("needs the program script, to make a terminal");
  const colors = new RegExp(`${ESCAPE}\\[[0-9;]*m`);
  expect(await onTerminal({})).toMatch(colors);
  expect(await onTerminal({ NO_COLOR: "1" })).not.toMatch(colors);
});

test.for([{ CI: "1" }, { TERM: "dumb" }])("with %j a terminal gets plain lines", async (envVars, { skip }) => {
  if (!existsSync(SCRIPT)) skip("needs the program script, to make a terminal");
  const text = await onTerminal({ ...envVars });
  expect(text).toContain("rl step 3: reward 0.300");
  expect(text).not.toContain(`${ESCAPE}[?25l`);
});

test("in a pipe there are plain lines only; with --json stdout holds the object alone", async () => {
  const plain = await runProgram(COMMAND[0] ?? "", COMMAND.slice(1));
  expect(plain.stdout).toContain("rl step 3: reward 0.300");
  expect(plain.stdout).toMatch(/the result\n$/);
  expect(plain.stdout).not.toContain(ESCAPE);
  const json = await runProgram(COMMAND[0] ?? "", [...COMMAND.slice(1), "json"]);
  expect(json.stdout).toBe('{"ok":true}\n');
  expect(json.stderr).toContain("rl step 3: reward 0.300");
});
