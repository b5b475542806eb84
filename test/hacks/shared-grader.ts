/**
 * How the field's common runner grades, for comparison only: the agent is root, its processes live on, the tests are
 * placed in its own sandbox and run there by its own shell, and the reward is what a file, an exit code or the printed
 * lines say. The suite shows here that its hacks are real; no run of the product grades like this.
 */
import type { Shell } from "../../src/core/exec.ts";
import type { Sandbox } from "../../src/core/sandbox.ts";
import type { FileContent } from "../../src/core/sandbox-files.ts";
import type { SandboxPool } from "../../src/core/sandbox-pool.ts";
import type { Script, Task } from "../../src/core/task.ts";
import { smallRequest } from "../support/sandbox-request.ts";
import type { Fixture, SharedGrading } from "./hack.ts";

const COMMAND_MS = 30_000;
const GRADE_MS = 30_000;
const OUTPUT_BYTES_MAX = 256 * 1024;

let claims = 0;

/** The reward a policy gets from a runner of that kind; null when the runner would have thrown the episode away. */
export async function gradeShared(
  pool: SandboxPool,
  { task }: Pick<Fixture, "task">,
  shared: SharedGrading,
  script: Script,
): Promise<number | null> {
  claims += 1;
  const { image, resources: limits } = task;
  const request = smallRequest({ attemptId: `shared-${claims}`, image, limits, lifetimeMs: 300_000 });
  return pool.withSandbox(request, new AbortController().signal, async (sandbox) => {
    await place(sandbox, [...task.files, ...shared.leftovers, ...script.files]);
    await run(sandbox, task, `mkdir -p ${task.workdir}`);
    for (const setup of [task.setup, shared.setup ?? null]) {
      if (setup !== null) await run(sandbox, task, `cd ${task.workdir} && ${setup}`);
    }
    const shell = await act(sandbox, task, script);
    await place(sandbox, shared.files);
    const result = await sandbox.exec(["/bin/bash", "-l", "-c", shared.command], {
      ...surroundings(task),
      timeoutMs: GRADE_MS,
      outputBytesMax: OUTPUT_BYTES_MAX,
    });
    await shell.close();
    const output = Buffer.concat([result.stdout, Buffer.from("\n"), result.stderr]).toString("utf8");
    if (shared.read === "exit-code") return result.exitCode === 0 ? 1 : 0;
    return shared.read === "test-lines" ? ofLines(output) : ofRewardFiles(sandbox);
  });
}

/** The agent's shell stays open, and with it what it left running. */
async function act(sandbox: Sandbox, task: Task, script: Script): Promise<Shell> {
  const shell = await sandbox.shell({ cwd: task.workdir, envVars: task.envVars, user: "root" });
  const bounds = { timeoutMs: COMMAND_MS, outputBytesMax: OUTPUT_BYTES_MAX };
  for (const command of script.commands) await shell.run(command, bounds);
  if (script.answer !== null) await place(sandbox, [answerFile(task, script.answer)]);
  return shell;
}

function answerFile(task: Task, answer: string): FileContent {
  return { path: `${task.workdir}/answer.txt`, bytes: Buffer.from(answer, "utf8"), mode: 0o644 };
}

/** What cannot be placed stays as it is: the field's runners copy and go on. */
async function place(sandbox: Sandbox, files: readonly FileContent[]): Promise<void> {
  for (const file of files) await sandbox.files.write(file);
}

async function run(sandbox: Sandbox, task: Task, command: string): Promise<void> {
  await sandbox.exec(command, {
    cwd: "/",
    envVars: task.envVars,
    timeoutMs: COMMAND_MS,
    outputBytesMax: OUTPUT_BYTES_MAX,
  });
}

function surroundings(task: Task): { readonly cwd: string; readonly envVars: Readonly<Record<string, string>> } {
  const path = "/root/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return { cwd: task.workdir, envVars: { HOME: "/root", PATH: path, LANG: "C.UTF-8", ...task.envVars } };
}

/** `reward.json` wins over `reward.txt`, as in the common runner. Neither: the episode counts as 0. */
async function ofRewardFiles(sandbox: Sandbox): Promise<number> {
  const json = await sandbox.files.read("/logs/verifier/reward.json", { bytesMax: 65_536 });
  if (json.ok) {
    const said = JSON.parse(Buffer.from(json.value).toString("utf8")) as { reward?: number };
    return said.reward ?? 0;
  }
  const text = await sandbox.files.read("/logs/verifier/reward.txt", { bytesMax: 65_536 });
  return text.ok ? Number(Buffer.from(text.value).toString("utf8")) : 0;
}

/** Share of tests whose printed line says that they passed: lines of unittest, pytest and TAP. */
function ofLines(output: string): number {
  const passed = output.match(/^(?:.* \.\.\. ok|.*::\S+ PASSED\b.*|ok \d+\b.*|\s*✔ .*)$/gm)?.length ?? 0;
  const failed =
    output.match(
      /^(?:.* \.\.\. (?:FAIL|ERROR)|.*::\S+ (?:FAILED|ERROR)\b.*|not ok \d+\b.*|\s*✖ .*|ERROR: .*|=+ ERRORS =+)$/gm,
    )?.length ?? 0;
  return passed === 0 ? 0 : passed / (passed + failed);
}
