/** Evaluating, replaying and checking through the command line: real tasks, real sandboxes, a data folder per test. */
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EvaluateSummary } from "../../src/run/report.ts";
import { cleanEnvVars, type Ended, ROOT, sandlot } from "./run-program.ts";

const GENERATOR = join(ROOT, "tasks", "generator", "first-light");

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-evaluate-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function command(...args: string[]): Promise<Ended> {
  return sandlot(args, { envVars: cleanEnvVars({ SANDLOT_DATA: join(folder, "data") }) });
}

test("the oracle passes, doing nothing does not, and --fail-below turns that into an exit code", async () => {
  const evaluate = (policy: string): Promise<Ended> =>
    command("evaluate", GENERATOR, "--policy", policy, "--tasks-max", "3", "--fail-below", "0.9", "--json");
  const [oracle, nop] = [await evaluate("oracle"), await evaluate("nop")];
  expect([oracle.exitCode, nop.exitCode]).toEqual([0, 1]);
  const summary = JSON.parse(oracle.stdout) as EvaluateSummary;
  expect(summary).toMatchObject({ tasks: 3, episodes: 3, passAt1: { passRate: 1, episodes: 3 } });
  expect(JSON.parse(nop.stdout)).toMatchObject({ passAt1: { passRate: 0 } });

  const list = await command("run", "list", "--json");
  const { runs } = JSON.parse(list.stdout) as { runs: { runId: string; state: string }[] };
  expect(runs.map(({ state }) => state)).toEqual(["done", "done"]);
  expect(runs.map(({ runId }) => runId)).toContain(summary.runId);

  const shown = await command("run", "show", summary.runId.slice(0, 25));
  expect(shown.exitCode === 0 || shown.stderr.includes("begins 2 runs")).toBe(true);

  const replay = await command("episode", "show", summary.runId, "1");
  expect(replay.stdout).toContain("Write a Python expression");
  expect(replay.stdout).toMatch(/outcome +graded, completed/);
  expect(replay.stdout).toMatch(/reward +1\.000/);
  const record = await command("episode", "show", `${summary.runId}-1`, "--json");
  expect(JSON.parse(record.stdout)).toMatchObject({ runId: summary.runId, outcome: { reward: 1 } });

  const none = await command("episode", "show", summary.runId, "77");
  expect([none.exitCode, none.stdout]).toEqual([2, ""]);
  expect(none.stderr).toContain("has no record of episode 77");
});

test("a run that does not exist is named with what to do next", async () => {
  await command("evaluate", GENERATOR, "--policy", "nop", "--tasks-max", "1");
  const { exitCode, stderr } = await command("run", "show", "nothing-like-it");
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/There is no run "nothing-like-it".*run list/);
});

test("mistakes in what to evaluate end as usage errors, and start nothing", async () => {
  for (const [args, message] of [
    [["evaluate", join(folder, "none")], "none"],
    [["evaluate", GENERATOR, "--policy", "orakle"], "orakle"],
    [["evaluate", GENERATOR, "--policy", "openai:"], "openai:MODEL"],
    [["evaluate", GENERATOR, "--k", "4"], "--episodes 4"],
    [["evaluate", GENERATOR, "--tasks-max", "99999999999"], "at most 100000"],
    [["evaluate", GENERATOR, "--split", "hold-out"], "hold-out"],
    [["evaluate", GENERATOR, "--policy", "openai:m", "--base-url", "http://me:word@127.0.0.1:1/v1"], "--key-variable"],
    [["evaluate", GENERATOR, "--policy", "openai:m", "--base-url", "127.0.0.1:1"], "http://127.0.0.1:8000/v1"],
  ] as const) {
    const { exitCode, stdout, stderr } = await command(...args);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/\n\s+at |me:word/);
    expect([args, exitCode, stdout]).toEqual([args, 2, ""]);
  }
});

test("task check lists each check, and exits 1 naming a task whose oracle is broken", async () => {
  await cp(join(ROOT, "tasks", "code-repair-python", "repair-python-statistics"), join(folder, "repair"), {
    recursive: true,
  });
  const check = (): Promise<Ended> => command("task", "check", join(folder, "repair"), "--json");
  const good = await check();
  expect(good.exitCode).toBe(0);
  expect(JSON.parse(good.stdout)).toMatchObject({ ok: true, tasks: [{ verdict: "valid" }] });

  const solution = join(folder, "repair", "solution");
  for (const name of await readdir(solution)) {
    if (name.endsWith(".sh")) await writeFile(join(solution, name), "#!/bin/sh\ntrue\n");
  }
  const broken = await check();
  expect(broken.exitCode).toBe(1);
  const { tasks } = JSON.parse(broken.stdout) as {
    tasks: { verdict: string; checks: { id: string; status: string }[] }[];
  };
  expect(tasks[0]?.verdict).toBe("invalid");
  expect(tasks[0]?.checks).toContainEqual(expect.objectContaining({ id: "oracle-passes", status: "fail" }));
});

test("task check of a folder that cannot be read exits 2 and names the file and the field", async () => {
  await cp(join(ROOT, "tasks", "code-repair-python", "repair-python-statistics"), join(folder, "repair"), {
    recursive: true,
  });
  const file = join(folder, "repair", "task.toml");
  await writeFile(file, (await readFile(file, "utf8")).replace("timeout_sec = 600", 'timeout_sec = "soon"'));
  const { exitCode, stdout } = await command("task", "check", join(folder, "repair"));
  expect(exitCode).toBe(2);
  expect(stdout).toMatch(/agent\.timeout_sec/);
  expect(stdout).toContain("task.toml");
});

test("without a compiler evaluate says what to install, exits 3 and starts nothing", async () => {
  const empty = join(folder, "empty");
  const data = join(folder, "data");
  const envVars = { PATH: empty, HOME: empty, XDG_CACHE_HOME: join(empty, "cache"), SANDLOT_DATA: data };
  const end = await sandlot(["evaluate", join(ROOT, "tasks", "code-repair-python", "repair-python-statistics")], {
    envVars,
  });
  expect(end.exitCode).toBe(3);
  expect(end.stderr).toContain("apt-get install gcc");
  expect(existsSync(data)).toBe(false);
});
