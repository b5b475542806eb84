/** The command line as a real process: help, usage errors, exit codes, what goes to stdout and what to stderr. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CLI, cleanEnvVars, runProgram, sandlot } from "./run-program.ts";

let folder = "";
let recipe = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-cli-"));
  recipe = join(folder, "r.toml");
  await writeFile(recipe, "[rl]\nsteps = 3\n");
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const COMMANDS = [
  ["train"],
  ["evaluate"],
  ["run", "list"],
  ["run", "show"],
  ["run", "resume"],
  ["episode", "show"],
  ["task", "list"],
  ["task", "show"],
  ["task", "check"],
  ["doctor"],
  ["setup"],
  ["completion"],
] as const;

test("help names every command", async () => {
  const { exitCode, stdout } = await sandlot(["--help"]);
  expect(exitCode).toBe(0);
  for (const [command] of COMMANDS) expect(stdout).toContain(`\n  ${command}`);
});

test("every command has help with an example and --json", async () => {
  const all = await Promise.all(COMMANDS.map((command) => sandlot([...command, "--help"])));
  for (const [index, { exitCode, stdout }] of all.entries()) {
    const name = COMMANDS[index]?.join(" ") ?? "";
    expect([name, exitCode]).toEqual([name, 0]);
    expect(stdout).toMatch(new RegExp(`Examples?:\n  .*sandlot ${name}`));
    expect(stdout).toContain("--json");
  }
});

test.each([
  [["trian"], "Did you mean train?"],
  [["train", "r.toml", "--sett", "a=1"], "Did you mean --set?"],
  [["train"], "missing required argument 'recipe'"],
  [["evaluate", "tasks", "--episodes", "none"], "Give a whole number of at least 1"],
  [["evaluate", "tasks", "--temperature", "nan"], "Give a number from 0 to 4."],
  [["episode", "show", "RUN"], "Name the run and the number of the episode"],
  [["train", "none.toml"], "Cannot read the recipe none.toml"],
])("a mistake in %j is a usage error that says what is meant", async (args, message) => {
  const { exitCode, stdout, stderr } = await sandlot(args);
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect([exitCode, stdout]).toEqual([2, ""]);
});

test("no command at all prints the help and is a usage error", async () => {
  const { exitCode, stderr } = await sandlot([]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("Commands:");
});

test("a mistaken recipe names file, line, key and nearest key, and starts nothing", async () => {
  await writeFile(recipe, '[rl]\nsteps = 3\ngruopSize = 4\n[sft]\nsteps = "many"\n');
  const { exitCode, stderr } = await sandlot(["train", recipe], { cwd: folder });
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`${recipe}:3: unknown key "rl.gruopSize". Did you mean "groupSize"?`);
  expect(stderr).toContain(`${recipe}:5: "sft.steps" is "many":`);
});

test("--print-config shows each value with where it came from", async () => {
  const envVars = cleanEnvVars({ SANDLOT_RL_GROUP_SIZE: "4" });
  const { exitCode, stdout, stderr } = await sandlot(["train", recipe, "--set", "seed=9", "--print-config"], {
    envVars,
  });
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(new RegExp(`^rl\\.steps = 3 +# ${recipe}:2$`, "m"));
  expect(stdout).toMatch(/^rl\.groupSize = 4 +# SANDLOT_RL_GROUP_SIZE$/m);
  expect(stdout).toMatch(/^seed = 9 +# --set$/m);
  expect(stdout).toMatch(/^sft\.steps = \d+ +# default$/m);
});

test("--json prints exactly one object on stdout, before or after the command", async () => {
  for (const args of [
    ["train", recipe, "--print-config", "--json"],
    ["--json", "train", recipe, "--print-config"],
  ]) {
    const { exitCode, stdout } = await sandlot(args);
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(JSON.parse(stdout)).toMatchObject({ recipe: { rl: { steps: 3 } }, origins: { "rl.steps": `${recipe}:2` } });
  }
});

test("--json reports an error as an object too, with the exit code", async () => {
  const { exitCode, stdout, stderr } = await sandlot(["train", "none.toml", "--json"]);
  expect(exitCode).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "config_invalid", exitCode: 2 } });
  expect(stderr).toContain("Cannot read the recipe");
});

test("--debug adds the stack of an error, and only then", async () => {
  const { stderr } = await sandlot(["train", "none.toml", "--debug"]);
  expect(stderr).toMatch(/\n\s+at .*load-recipe/);
  expect(stderr).toContain("caused by: Error: ENOENT");
});

test("a file name that carries a control sequence cannot drive the terminal", async () => {
  const { stderr } = await sandlot(["train", "\u001b[2Jnone.toml"]);
  expect(stderr).toContain("\\x1b[2Jnone.toml");
  expect(stderr).not.toContain("\u001b");
});

test("color is off in a pipe, off for NO_COLOR, on when asked for", async () => {
  const colored = async (args: readonly string[], envVars: Record<string, string>): Promise<boolean> => {
    const { stdout } = await sandlot(["doctor", ...args], { envVars: cleanEnvVars(envVars) });
    return stdout.includes("\u001b[");
  };
  expect(await colored([], {})).toBe(false);
  expect(await colored(["--color=always"], {})).toBe(true);
  expect(await colored(["--color=never"], { FORCE_COLOR: "1" })).toBe(false);
  expect(await colored([], { NO_COLOR: "1", FORCE_COLOR: "1" })).toBe(false);
});

test("a reader that closes stdout early does not turn into an error", async () => {
  const line = `"${process.execPath}" "${CLI}" train "${recipe}" --print-config | head -n 1`;
  const { exitCode, stderr } = await runProgram("/bin/bash", ["-o", "pipefail", "-c", line]);
  expect([exitCode, stderr]).toEqual([0, ""]);
});

test("a folder without data says so and exits 2", async () => {
  const envVars = cleanEnvVars({ SANDLOT_DATA: join(folder, "none") });
  const { exitCode, stderr } = await sandlot(["run", "list"], { envVars });
  expect(exitCode).toBe(2);
  expect(stderr).toContain(join(folder, "none"));
});

test("bash completes commands, their commands and their options", async () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    const typed = words.map((word) => `'${word}'`).join(" ");
    const line = `source <("${process.execPath}" "${CLI}" completion bash); COMP_WORDS=(sandlot ${typed}); COMP_CWORD=${words.length}; _sandlot; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await runProgram("/bin/bash", ["-c", line]);
    expect(stderr).toBe("");
    return stdout.trim().split(" ");
  };
  expect(await complete("tr")).toEqual(["train"]);
  expect(await complete("run", "re")).toEqual(["resume"]);
  expect(await complete("--json", "task", "check", "--prof")).toEqual(["--profile"]);
  expect(await complete("evaluate", "tasks", "--")).toContain("--fail-below");
});

test("the version is the package's", async () => {
  expect((await sandlot(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
