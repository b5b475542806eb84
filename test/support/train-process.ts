/** Runs `sandlot train` and its kin as real processes on a recipe small enough for a test. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openReader } from "../../src/app.ts";
import type { Store } from "../../src/core/store.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** A run in seconds: a nano model, six steps. It has learned enough to earn some reward, so that each step moves the weights. */
export const TINY: readonly string[] = [
  "policy.preset=nano",
  "policy.threads=2",
  "sft.demonstrations=1000",
  "sft.steps=150",
  "sft.learningRate=4e-3",
  "rl.steps=6",
  "rl.groupsPerBatch=8",
  "rl.groupSize=4",
  "rl.checkpointEverySteps=2",
  "evaluation.episodes=24",
  'tasks.heldOutHard=""',
].flatMap((pair) => ["--set", pair]);

export interface CommandEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly end: Promise<CommandEnd>;
}

export function dataFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "sandlot-test-"));
}

/** Starts `sandlot ARGS` with its own data folder. The caller waits for `end`. */
export function startSandlot(args: readonly string[], folder: string): RunningCommand {
  const child = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), ...args], {
    cwd: ROOT,
    env: { ...process.env, SANDLOT_DATA: folder, CI: "true", NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (bytes: Buffer) => {
    stdout += bytes.toString();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    stderr += bytes.toString();
  });
  const end = new Promise<CommandEnd>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, end };
}

export function train(folder: string, more: readonly string[] = []): RunningCommand {
  return startSandlot(["train", "recipes/first-light.toml", ...TINY, "--json", ...more], folder);
}

/** The JSON object on the last line of stdout. */
export function lastObject(end: CommandEnd): Record<string, unknown> {
  const line = end.stdout.trimEnd().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    throw new Error(`the last line is not JSON: ${line}\nstderr: ${end.stderr.slice(-2_000)}`);
  }
}

/** Waits until the newest run of the folder has committed `step` optimizer steps, or its process has ended. */
export async function waitForStep(folder: string, step: number, command: RunningCommand): Promise<string> {
  let isEnded = false;
  void command.end.then(() => {
    isEnded = true;
  });
  while (!isEnded) {
    const found = await withReader(folder, async (store) => {
      const [run] = await store.runs();
      return run !== undefined && run.step >= step ? run.runId : null;
    }).catch(() => null);
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { code, stderr } = await command.end;
  throw new Error(`the run ended (${code}) before step ${step}:\n${stderr.slice(-2_000)}`);
}

/** Waits until so many episodes of a step have ended, while others of it have not. Fails when all have. */
export async function waitForEpisodes(
  folder: string,
  runId: string,
  { step, episodes }: { readonly step: number; readonly episodes: number },
): Promise<void> {
  for (;;) {
    const [ended, open] = await withReader(folder, async (store) => {
      const { ready } = await store.counts(runId);
      return [(await store.episodes(runId, { step })).length, ready] as const;
    });
    if (ended >= episodes && open > 0) return;
    if (ended >= episodes) throw new Error(`all episodes of step ${step} had ended before they could be looked at`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export async function withReader<T>(folder: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openReader(folder);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
