/** A task with a judge through the command line: asked once, graded again from what is stored, asked again when told to. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RegradeReport } from "../../src/app-regrade.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { type ChatRequest, type OpenaiServer, openaiServer, type ServerPlan } from "../support/openai-server.ts";
import { cleanEnvVars, type Ended, ROOT, sandlot } from "./run-program.ts";

const JUDGE = `
[sandlot.judge]
share = 0.2
votes = 1
[[sandlot.judge.items]]
name = "has-median"
question = "Does the package define a median?"
`;
/** Each test starts a dozen processes one after another, which a busy machine takes long over. */
const TEST_MS = 600_000;
const KEY = { SANDLOT_JUDGE_KEY: "a-key-of-the-judge" };

let folder = "";
let server: OpenaiServer | null = null;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-judge-"));
});

afterEach(async () => {
  await server?.close();
  server = null;
  await rm(folder, { recursive: true, force: true });
});

function command(args: readonly string[], envVars: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return sandlot(args, { envVars: cleanEnvVars({ SANDLOT_DATA: join(folder, "data"), ...envVars }) });
}

async function regraded(...args: string[]): Promise<RegradeReport> {
  const { stdout, stderr } = await command(["regrade", "latest", "--verifier", "current", "--json", ...args]);
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as RegradeReport;
}

async function judgedTask(): Promise<string> {
  const task = join(folder, "judged");
  await cp(join(ROOT, "tasks", "code-repair-python", "repair-python-statistics"), task, { recursive: true });
  await writeFile(join(task, "task.toml"), JUDGE, { flag: "a" });
  return task;
}

/** Says yes with a quote that is there, or no. */
async function judge(says: () => "yes" | "no"): Promise<OpenaiServer> {
  return openaiServer((request: ChatRequest): ServerPlan => {
    const prompt = request.messages[0]?.content ?? "";
    const key = /^(q[0-9a-z]+): /m.exec(prompt)?.[1] ?? "";
    const answer = says();
    const text = JSON.stringify({ [key]: { answer, quote: answer === "yes" ? "def median(" : "" } });
    return { kind: "reply", isWhole: true, reply: { text } };
  });
}

test(
  "a regrade takes what the judge answered without its endpoint or its key, and asks again when told to",
  async () => {
    let says: "yes" | "no" = "yes";
    server = await judge(() => says);
    const task = await judgedTask();
    const named = ["--judge", "m", "--judge-url", server.baseUrl, "--judge-key-variable", "SANDLOT_JUDGE_KEY"];
    const evaluated = await command(["evaluate", task, "--json", ...named], KEY);
    expect(JSON.parse(evaluated.stdout)).toMatchObject({ passAt1: { passRate: 1, episodes: 1 } });
    expect(server.requests).toHaveLength(1);
    const shown = JSON.parse((await command(["episode", "show", "latest", "1", "--json"])).stdout) as Trajectory;
    expect(shown.verification?.judge?.items).toMatchObject([{ name: "has-median", score: 1, quotes: ["def median("] }]);
    expect(JSON.stringify(shown)).not.toContain(KEY.SANDLOT_JUDGE_KEY);

    says = "no";
    expect(await regraded()).toMatchObject({ episodes: 1, changes: [], failures: [] });
    expect(server.requests).toHaveLength(1);

    const keyless = await regraded("--ask-again");
    expect(keyless.failures).toMatchObject([{ message: expect.stringMatching(/SANDLOT_JUDGE_KEY/) }]);
    const again = await command(["regrade", "latest", "--verifier", "current", "--ask-again", "--json"], KEY);
    expect(JSON.parse(again.stdout)).toMatchObject({ episodes: 1, failures: [], changes: [{ before: 1, after: 0.8 }] });
    expect(server.requests).toHaveLength(2);
  },
  TEST_MS,
);

test(
  "a judge that is gone leaves no reward, and the one that is named later grades what was stored",
  async () => {
    server = await openaiServer([{ kind: "status", status: 404 }]);
    const task = await judgedTask();
    const failed = await command(["evaluate", task, "--judge", "m", "--judge-url", server.baseUrl]);
    expect([failed.exitCode, failed.stdout]).toEqual([4, expect.stringMatching(/failed\/verifier_fault 1/)]);
    await server.close();
    server = await judge(() => "yes");
    const report = await regraded("--judge", "m", "--judge-url", server.baseUrl);
    expect(report).toMatchObject({ episodes: 1, failures: [], changes: [{ before: null, after: 1 }] });
  },
  TEST_MS,
);

test(
  "a check of a task with a judge asks the one that is named, and says how to name one",
  async () => {
    server = await judge(() => "yes");
    const task = await judgedTask();
    const check = ["task", "check", task, "--only", "oracle-passes", "--verbose"];
    const checked = await command([...check, "--judge", "m", "--judge-url", server.baseUrl]);
    expect(checked.stdout).toMatch(/pass E +3 oracle-passes/);
    expect(server.requests.length).toBeGreaterThan(0);
    const unnamed = await command(check);
    expect([unnamed.exitCode, unnamed.stdout]).toEqual([
      4,
      expect.stringMatching(/oracle has no verdict[\s\S]*--judge\s+MODEL/),
    ]);
    const refused = await command(["evaluate", task]);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringMatching(/\[sandlot\.judge\].*--judge MODEL/)]);
    const half = await command(["evaluate", task, "--judge-url", server.baseUrl]);
    expect([half.exitCode, half.stderr]).toEqual([
      2,
      expect.stringMatching(/--judge-url names no model.*--judge MODEL/),
    ]);
  },
  TEST_MS,
);
