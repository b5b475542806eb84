/** Starts evaluations: finds the tasks of a target, picks the policy it names, and runs `run/evaluate.ts` over them. */
import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { refuseCredentials, refuseHalfJudge, requireJudge } from "./app-address.ts";
import type { AppOptions } from "./app-options.ts";
import { openMachinery, requireSandboxes, runtime, SYSTEM_TEXT } from "./app-parts.ts";
import type { ProviderName } from "./app-provider.ts";
import { tasksOf } from "./app-tasks.ts";
import { openTrainedPolicy } from "./app-train.ts";
import { Failure } from "./core/errors.ts";
import { canonicalJson } from "./core/json.ts";
import type { Policy } from "./core/policy.ts";
import type { FileContent } from "./core/sandbox-files.ts";
import type { RunRow, Store } from "./core/store.ts";
import type { Task } from "./core/task.ts";
import { nopPolicy } from "./policy/nop.ts";
import { openaiPolicy } from "./policy/openai.ts";
import { scriptPolicy } from "./policy/oracle.ts";
import { readScriptFile } from "./policy/script-file.ts";
import { evaluate } from "./run/evaluate.ts";
import { type Recipe, recipeSchema } from "./run/recipe.ts";
import type { EvaluateSummary } from "./run/report.ts";
import { openStore } from "./store/open-store.ts";

export interface EvaluateOptions {
  /** `oracle`, `nop`, `script:FILE`, `openai:MODEL`, or a training run (its id, a beginning of it, or `latest`), whose newest checkpoint then acts. */
  readonly policy: string;
  /** Address of an OpenAI-compatible endpoint; null takes the client's own default. */
  readonly baseUrl: string | null;
  /** Name of the environment variable that holds the endpoint's key. */
  readonly keyVariable: string | null;
  readonly episodesPerTask: number;
  readonly k: readonly number[];
  /** Of a generator; null means its first held-out one. */
  readonly split: string | null;
  /** Most tasks taken of a generator. */
  readonly tasksMax: number;
  readonly concurrency: number;
  readonly seed: number;
  readonly temperature: number;
  /** `turns` keeps what a sandbox holds after each turn. */
  readonly snapshots: "none" | "turns";
  /** What makes the sandboxes. */
  readonly provider: ProviderName;
  /** Who is asked where a task has a judge; an empty model is nobody. */
  readonly judge: Recipe["judge"];
}

/** Throws `config_invalid` or `not_found` before anything is started. */
export async function evaluateTarget(
  target: string,
  options: EvaluateOptions,
  app: AppOptions,
): Promise<EvaluateSummary> {
  const kTooLarge = options.k.find((k) => k > options.episodesPerTask);
  if (kTooLarge !== undefined) {
    throw new Failure(
      "config_invalid",
      `pass@${kTooLarge} needs at least ${kTooLarge} episodes a task, not ${options.episodesPerTask}; add --episodes ${kTooLarge}.`,
    );
  }
  refuseCredentials("--base-url", options.baseUrl);
  refuseHalfJudge(options.judge);
  const { tasks, taskSet } = await tasksOf(target, options);
  for (const task of tasks) requireJudge(task, options.judge);
  await requireSandboxes(options.provider);
  const store = await openStore({ folder: app.dataFolder, runtime, mode: "owner" });
  const defaults = recipeSchema.parse({});
  // A grading holds two sandboxes at once, one for its tests and one for the graded program; one that measures speed four.
  const { concurrency, snapshots, provider } = options;
  const sandbox = { ...defaults.sandbox, lentMax: Math.max(2 * concurrency, concurrency + 4), snapshots, provider };
  const machinery = openMachinery(sandbox, availableParallelism(), store, systemTextOf(options), {
    ...defaults,
    judge: options.judge,
  });
  const runId = runtime.id();
  let chosen: ChosenPolicy | null = null;
  try {
    chosen = await policyOf(options, store, app.dataFolder);
    const config = canonicalJson({ target: taskSet, folder: resolve(target), ...options });
    const recipeHash = createHash("sha256").update(config).digest("hex");
    const name = `evaluate-${taskSet}`;
    await store.createRun({
      runId,
      kind: "evaluate",
      state: "active",
      name,
      createdAt: runtime.now(),
      recipeHash,
      config,
    });
    await store.acquireRun(runId);
    return await evaluate({
      runId,
      name,
      recipeHash,
      taskSet,
      store,
      runtime,
      runEpisode: machinery.runEpisode,
      tasks,
      policyFor: chosen.policyFor,
      filesFor: chosen.filesFor,
      episodesPerTask: options.episodesPerTask,
      k: options.k,
      seed: options.seed,
      scheduler: { ...defaults.scheduler, episodesMax: options.concurrency },
      sandboxesCreated: () => machinery.pool.stats().created,
      ...app,
    });
  } finally {
    await machinery.close();
    await chosen?.close();
    await store.close();
  }
}

/** A trained run's model is shown the instruction alone, as in its training. */
function systemTextOf({ policy }: EvaluateOptions): string | null {
  return ["oracle", "nop"].includes(policy) || /^(openai|script):/.test(policy) ? SYSTEM_TEXT : null;
}

interface ChosenPolicy {
  readonly policyFor: (task: Task) => Policy;
  /** Files a policy brings with it. */
  readonly filesFor: (task: Task) => readonly FileContent[];
  close(): Promise<void>;
}

async function policyOf(options: EvaluateOptions, store: Store, dataFolder: string): Promise<ChosenPolicy> {
  const rest = { filesFor: () => [], close: async (): Promise<void> => undefined };
  if (options.policy === "oracle")
    return { ...rest, policyFor: (task) => scriptPolicy(task.oracle), filesFor: (task) => task.oracle.files };
  if (options.policy === "nop") return { ...rest, policyFor: () => nopPolicy() };
  if (options.policy.startsWith("script:")) {
    const script = await readScriptFile(options.policy.slice("script:".length));
    return { ...rest, policyFor: () => scriptPolicy(script), filesFor: () => script.files };
  }
  if (options.policy === "openai:") {
    throw new Failure(
      "config_invalid",
      "--policy openai: names no model; write it after the colon, as in openai:MODEL.",
    );
  }
  if (options.policy.startsWith("openai:")) {
    const policy = openaiPolicy({
      model: options.policy.slice("openai:".length),
      baseUrl: options.baseUrl,
      keyVariable: options.keyVariable,
      temperature: options.temperature,
      runtime,
    });
    return { ...rest, policyFor: () => policy };
  }
  const run = await trainedRun(store, options.policy);
  const trained = await openTrainedPolicy(run, dataFolder, options.temperature);
  return { ...rest, policyFor: () => trained.policy, close: trained.close };
}

const PREFIX_MIN = 4;

/** The training run a person means: its id, a beginning only one has, or `latest`. */
async function trainedRun(store: Store, asked: string): Promise<RunRow> {
  const runs = (await store.runs()).filter((run) => run.kind === "train");
  const exact = asked === "latest" ? runs[0] : runs.find((run) => run.runId === asked);
  const begun = asked.length < PREFIX_MIN ? [] : runs.filter((run) => run.runId.startsWith(asked));
  const found = exact ?? (begun.length === 1 ? begun[0] : undefined);
  if (found !== undefined) return found;
  throw new Failure(
    "config_invalid",
    `--policy ${asked} is neither oracle, nop, script:FILE, openai:MODEL, latest, nor one training run of this data folder. List runs: sandlot run list`,
  );
}
