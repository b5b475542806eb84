/** Sandboxes through the command line: a command in a fresh one, an episode's files after a turn, a short measurement. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SweepReport } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { requestFor } from "../../src/sandbox/bench/contender.ts";
import type { SandboxBench } from "../../src/sandbox/bench/report.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { CLI, cleanEnvVars, type Ended, ROOT, runProgram, sandlot } from "./run-program.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-cli-sandbox-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function command(...args: string[]): Promise<Ended> {
  return sandlot(args, { envVars: cleanEnvVars({ SANDLOT_DATA: join(folder, "data") }) });
}

test("a command in a fresh sandbox gives its output, both streams apart, and its exit code", async () => {
  const ended = await command("sandbox", "shell", "host", "--", "sh", "-c", "echo out; echo err >&2; id -u; exit 7");
  expect(ended).toMatchObject({ exitCode: 7, stdout: "out\n0\n", stderr: "err\n" });
  const agent = await command("sandbox", "shell", "--user", "agent", "host", "--", "id", "-u");
  expect(agent).toMatchObject({ exitCode: 0, stdout: "1000\n" });
});

test("what is piped in reaches the command, and its end too", async () => {
  const piped = `printf 'one\\ntwo\\n' | ${process.execPath} ${CLI} sandbox shell host -- wc -l`;
  const ended = await runProgram("/bin/sh", ["-c", piped]);
  expect(ended).toMatchObject({ exitCode: 0, stdout: "2\n" });
});

test("a person at a terminal gets a terminal inside, of the same size", async () => {
  const inside = `stty rows 31 cols 97; ${process.execPath} ${CLI} sandbox shell host -- stty size`;
  const ended = await runProgram("script", ["-qec", inside, "/dev/null"]);
  expect(ended.stdout.replaceAll("\r", "")).toMatch(/^31 97$/m);
});

test("a terminal is as it was after a program that turned it over and left it so", async () => {
  const turned =
    "stty raw -echo; printf '\\033[?1049h\\033[?25l\\033[?1003h\\033[?2004h\\033[7m\\033[5;9r\\033(0'; exit 4";
  const run = `${process.execPath} ${CLI} sandbox shell host -- sh -c "${turned}"`;
  const ended = await runProgram("script", ["-qec", `stty -g; ${run}; echo ended $?; stty -g`, "/dev/null"]);
  const [before, after] = ended.stdout.match(/[0-9a-f]+(:[0-9a-f]+){20,}/g) ?? [];
  expect(ended.stdout).toContain("ended 4");
  expect([before === undefined, after]).toEqual([false, before]);
  for (const undone of ["[?1047l", "[?25h", "[?1003l", "[?2004l", "[0m", "[r", "(B"])
    expect(ended.stdout.lastIndexOf(`\u001b${undone}`)).toBeGreaterThan(ended.stdout.indexOf("\u001b(0"));
});

test("a signal ends the sandbox and is told as every other command tells it", async () => {
  for (const [signal, exitCode] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    const args = ["sandbox", "shell", "host", "--", "sh", "-c", "echo ready; exec sleep 600"];
    const ended = await sandlot(args, { onOutput: (text, kill) => text.includes("ready") && kill(signal) });
    expect(ended).toMatchObject({ exitCode, signal: null, stderr: "" });
  }
});

test("an image, a user or a command that is not there is a sentence and a usage error", async () => {
  for (const [args, message] of [
    [["sandbox", "shell", "nonsense:image"], "nonsense:image"],
    [["sandbox", "shell", `sha256:${"0".repeat(64)}`], "is not in the store"],
    [["sandbox", "shell", "--user", "nobody-here", "host", "--", "true"], "nobody-here"],
    [["sandbox", "shell", "host", "--", "no-such-program"], "no-such-program could not start"],
    [["sandbox", "shell", "--network", "10.0.0.1", "host", "--", "true"], "10.0.0.1"],
    [["sandbox", "bench", "nothing"], "nothing"],
    [["sandbox", "bench", "namespace", "--image", "nonsense"], "None of the sandboxes asked for can be measured"],
    [["sandbox", "shell", "--cpus", "1e9", "host", "--", "true"], "cpus must be at most 8192"],
    [["sandbox", "shell", "--memory", "-1"], "positive"],
  ] as const) {
    const ended = await command(...args);
    expect([args, ended.exitCode === 0]).toEqual([args, false]);
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).not.toMatch(/mistake of Sandlot|at .*\.ts:\d/);
  }
});

test("a run that keeps its turns can be opened again as it was after each of them", async () => {
  const task = join(ROOT, "tasks", "service-config", "mend-service-config");
  const kept = await command("evaluate", task, "--policy", "oracle", "--snapshots", "turns", "--json");
  expect(kept.exitCode).toBe(0);
  const { runId } = JSON.parse(kept.stdout) as { runId: string };
  const after = (turn: string): Promise<Ended> =>
    command("episode", "fork", runId, "1", "--turn", turn, "--", "sh", "-c", "id -un; cat /app/config.json");
  const first = await after("1");
  expect(first).toMatchObject({ exitCode: 0 });
  expect(first.stdout).toMatch(/^agent\n\{/);
  expect(first.stderr).toContain(`Episode ${runId}-1 after turn 1.`);
  const missing = await after("99");
  expect(missing.exitCode).not.toBe(0);
  expect(missing.stderr).toContain("It keeps those after turns 1");

  const without = await command("evaluate", task, "--policy", "oracle", "--json");
  const other = (JSON.parse(without.stdout) as { runId: string }).runId;
  const nothing = await command("episode", "fork", `${other}-1`);
  expect(nothing.stderr).toContain("--snapshots turns");
});

test("an evaluation runs on the provider that was asked for, and its records say so", async (context) => {
  if (spawnSync("bwrap", ["--version"]).status !== 0) context.skip("bubblewrap is not installed");
  const task = join(ROOT, "tasks", "service-config", "mend-service-config");
  const ended = await command("evaluate", task, "--policy", "oracle", "--provider", "bwrap", "--fail-below", "1");
  expect(ended).toMatchObject({ exitCode: 0 });
  const shown = JSON.parse((await command("episode", "show", "latest", "1", "--json")).stdout) as {
    readonly sandbox: { readonly provider: string };
  };
  expect(shown.sandbox.provider).toBe("bwrap");
});

test("what a dead process left is removed, and what a live one has is not", async () => {
  const stale = join(folder, "sandlot", "sandlot-00000000-4026531836-1-1-0123abcd");
  await mkdir(stale, { recursive: true });
  const sweep = (): Promise<Ended> =>
    sandlot(["sandbox", "gc", "--json"], { envVars: cleanEnvVars({ XDG_RUNTIME_DIR: folder }) });
  const provider = namespaceProvider({ runtime: systemRuntime() });
  try {
    const sandbox = await provider.create(requestFor("host"), new AbortController().signal);
    expect(JSON.parse((await sweep()).stdout)).toMatchObject({ removed: expect.arrayContaining([stale]) });
    expect(existsSync(stale)).toBe(false);
    expect((JSON.parse((await sweep()).stdout) as SweepReport).removed).not.toContain(stale);
    expect((await sandbox.exec("true", { timeoutMs: 10_000, outputBytesMax: 0 })).exitCode).toBe(0);
  } finally {
    await provider.close();
  }
});

test("the measurement prints the same figures for people and machines, failures counted", async () => {
  const ended = await command("sandbox", "bench", "namespace", "--scale", "0.01", "--json");
  expect(ended.exitCode).toBe(0);
  const bench = JSON.parse(ended.stdout) as SandboxBench;
  expect(bench.quantities.map(({ failures }) => failures).every((count) => count === 0)).toBe(true);
  for (const { name, p50 } of bench.quantities) {
    expect(ended.stderr).toContain(name);
    expect(ended.stderr).toContain(p50?.toFixed(2));
  }
  expect(bench.figures.every(({ value }) => value !== null && Number.isFinite(value))).toBe(true);
  expect(bench.loadAverageBefore).toHaveLength(3);
});
