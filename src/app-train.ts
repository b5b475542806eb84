/** Starts and resumes training runs: wires engine, generator, trainer and store into the loop of `run/train.ts`. */
import { createHash } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { AppOptions } from "./app-options.ts";
import { openGenerator, openMachinery, requireSandboxes, runtime } from "./app-parts.ts";
import { Failure } from "./core/errors.ts";
import { canonicalJson } from "./core/json.ts";
import type { Policy, Tokenizer } from "./core/policy.ts";
import type { PolicySampler, PolicySnapshot, PolicyTrainer, TrainSequence } from "./core/policy-backend.ts";
import { deriveSeed } from "./core/random.ts";
import type { RunRow, Store } from "./core/store.ts";
import type { Demonstration, Task, TaskCell, TaskGenerator } from "./core/task.ts";
import { embeddedBackend } from "./policy/embedded/backend.ts";
import { plainRenderer } from "./policy/renderer/plain.ts";
import { sampledPolicy } from "./policy/sampled.ts";
import { charsTokenizer } from "./policy/tokenizer.ts";
import { cellsOf } from "./rollout/curriculum-dials.ts";
import type { LoadedRecipe } from "./run/load-recipe.ts";
import { type Recipe, recipeSchema } from "./run/recipe.ts";
import type { TrainSummary } from "./run/report.ts";
import { train } from "./run/train.ts";
import { openStore } from "./store/open-store.ts";
import { storeFailure } from "./store/store-failure.ts";
import { grpoAdvantages } from "./trainer/algorithm/grpo.ts";
import { batchId } from "./trainer/batch.ts";
import { createTrainer } from "./trainer/train-step.ts";

/** What a run needs to go on after its process is gone; stored with the run as JSON. */
export interface StoredConfig {
  readonly recipe: Recipe;
  readonly generatorFolder: string;
  /** The generator and its version when the run began: another version makes other tasks of the same seeds. */
  readonly taskSet: string;
  readonly threads: number;
}

/** Throws `run_live` when a run of this data folder is live in another process. */
export async function startTraining(loaded: LoadedRecipe, options: AppOptions): Promise<TrainSummary> {
  const { recipe } = loaded;
  const cores = availableParallelism();
  const generatorFolder = resolve(loaded.folder, recipe.tasks.generator);
  const generator = await openGenerator(generatorFolder);
  refuseUnknownSplits(recipe, generator);
  const config: StoredConfig = {
    recipe,
    generatorFolder,
    taskSet: taskSetOf(generator),
    threads: recipe.policy.threads === 0 ? Math.min(16, cores) : recipe.policy.threads,
  };
  await requireSandboxes(recipe.sandbox.provider);
  const store = await openStore({ folder: options.dataFolder, runtime, mode: "owner" });
  try {
    const runId = runtime.id();
    await store.createRun({
      runId,
      kind: "train",
      state: "active",
      name: recipe.name,
      createdAt: runtime.now(),
      recipeHash: hashOf(recipe),
      config: JSON.stringify(config),
    });
    await store.acquireRun(runId);
    return await runTraining(runId, config, store, options, false);
  } finally {
    await store.close();
  }
}

/** Goes on with a stopped, halted or killed run; null means the newest one that can. */
export async function resumeTraining(runId: string | null, options: AppOptions): Promise<TrainSummary> {
  const store = await openStore({ folder: options.dataFolder, runtime, mode: "owner" });
  try {
    const runs = await store.runs();
    const run =
      runId === null
        ? runs.find((candidate) => candidate.kind === "train" && candidate.state !== "done")
        : runs.find((candidate) => candidate.runId === runId);
    if (run === undefined) {
      throw new Failure(
        "not_found",
        runId === null
          ? `No run in ${options.dataFolder} can go on. Start one: sandlot train recipes/first-light.toml`
          : `There is no run ${runId} in ${options.dataFolder}. List them: sandlot run list`,
      );
    }
    if (run.kind !== "train")
      throw new Failure("request_invalid", `Run ${run.runId} is an evaluation; start it again instead.`);
    if (run.state === "done" && run.summary !== null) return JSON.parse(run.summary) as TrainSummary;
    const stored = JSON.parse(run.config) as StoredConfig;
    const recipe = recipeSchema.parse(stored.recipe);
    await requireSandboxes(recipe.sandbox.provider);
    await store.acquireRun(run.runId);
    return await runTraining(run.runId, { ...stored, recipe }, store, options, true);
  } finally {
    await store.close();
  }
}

function taskSetOf({ name, version }: TaskGenerator): string {
  return `${name}@${version}`;
}

/** Tasks that have changed under a run would be graded and trained on as if they were the ones it planned. */
function refuseOtherTasks({ taskSet, generatorFolder }: StoredConfig, now: string): void {
  if (taskSet === now) return;
  throw new Failure(
    "config_invalid",
    `The run began with the tasks of ${taskSet}, and ${generatorFolder} is now ${now}. Resume it with the version of ` +
      "Sandlot that began it, or start a new run.",
  );
}

/** A split that does not exist would else be met only after the supervised phase. */
function refuseUnknownSplits({ tasks }: Recipe, { name, splits }: TaskGenerator): void {
  for (const key of ["train", "heldOut", "heldOutHard"] as const) {
    const split = tasks[key];
    if (splits.includes(split) || (key === "heldOutHard" && split === "")) continue;
    throw new Failure(
      "config_invalid",
      `tasks.${key} is ${JSON.stringify(split)}, and generator ${name} has no such split; it has ${splits.join(", ")}.`,
    );
  }
}

async function runTraining(
  runId: string,
  config: StoredConfig,
  store: Store,
  options: AppOptions,
  isResumed: boolean,
): Promise<TrainSummary> {
  const { recipe } = config;
  const cores = availableParallelism();
  const generator = await openGenerator(config.generatorFolder);
  refuseOtherTasks(config, taskSetOf(generator));
  const model = await openModel(
    recipe,
    generator,
    config.threads,
    join(runFolder(options.dataFolder, runId), "checkpoints"),
  );
  // The embedded model is shown the bare instruction, as in its demonstrations.
  const machinery = openMachinery(recipe.sandbox, cores, store, null, recipe);
  let reference: PolicySnapshot | null = null;
  try {
    return await train({
      runId,
      recipe,
      recipeHash: hashOf(recipe),
      taskSet: config.taskSet,
      isResumed,
      store,
      runtime,
      runEpisode: machinery.runEpisode,
      trainer: createTrainer({
        trainer: model.weights,
        sampler: model.sampler,
        reference: () => reference,
        algorithm: {
          aggregation: recipe.rl.aggregation,
          lengthMax: recipe.policy.answerTokensMax,
          clipLow: recipe.rl.clipLow,
          clipHigh: recipe.rl.clipHigh,
          klBeta: recipe.rl.klBeta,
        },
        adam: { ...recipe.optimizer, learningRate: recipe.rl.learningRate, gradientClip: recipe.rl.gradientClip },
        mismatchMax: recipe.rl.mismatchMax,
        klSequencesMax: recipe.rl.klSequencesMax,
        signal: options.abort,
      }),
      weights: model.weights,
      checkpoints: model.checkpoints,
      taskAt: taskReader(generator, recipe.seed),
      cells: recipe.curriculum.isEnabled ? cellsOf(generator, recipe.tasks.train) : null,
      policyAt: model.policyAt,
      setReference: (snapshot) => {
        reference = snapshot;
      },
      demonstrations: () => model.demonstrations(),
      advantages: grpoAdvantages({ divideByStd: recipe.rl.isStdNormalized }),
      // Batches without a gradient have no content to be named by; each is still taken once.
      createBatch: (step, items) => ({ id: items.length === 0 ? `empty-${step}` : batchId(items), step, items }),
      sandboxesCreated: () => machinery.pool.stats().created,
      cores,
      ...options,
    });
  } finally {
    await machinery.close();
    await model.close();
  }
}

/** Tasks by split and position, remembered, since every member of a group asks for the same one. */
export function taskReader(
  generator: TaskGenerator,
  seed: number,
): (split: string, index: number, cell?: TaskCell | null) => Task {
  const known = new Map<string, Task>();
  return (split, index, cell = null) => {
    const key = `${split}:${index}:${cell?.id ?? ""}`;
    const place = cell === null ? {} : Object.keys(cell.dials).length > 0 ? { dials: cell.dials } : { cell: cell.id };
    const found = known.get(key) ?? generator.generate({ split, index, seed: deriveSeed(seed, "tasks"), ...place });
    if (known.size > 4_096) known.clear();
    known.set(key, found);
    return found;
  };
}

interface Model {
  readonly weights: PolicyTrainer;
  readonly sampler: PolicySampler;
  readonly checkpoints: () => Promise<readonly string[]>;
  readonly policyAt: (snapshot: PolicySnapshot, mode: "sampled" | "greedy") => Policy;
  readonly demonstrations: () => readonly TrainSequence[];
  close(): Promise<void>;
}

/** The policy of a stored run at its newest checkpoint. Throws `policy_checkpoint_missing` when it has none. */
export async function openTrainedPolicy(
  run: RunRow,
  dataFolder: string,
  temperature: number,
): Promise<{ readonly policy: Policy; close(): Promise<void> }> {
  if (run.kind !== "train")
    throw new Failure("config_invalid", `Run ${run.runId} is an evaluation and has no weights.`);
  const config = JSON.parse(run.config) as StoredConfig;
  const recipe = recipeSchema.parse(config.recipe);
  const generator = await openGenerator(config.generatorFolder);
  const folder = join(runFolder(dataFolder, run.runId), "checkpoints");
  const model = await openModel(
    { ...recipe, policy: { ...recipe.policy, temperature } },
    generator,
    config.threads,
    folder,
  );
  try {
    const newest = (await model.checkpoints()).at(-1);
    if (newest === undefined) {
      throw new Failure("policy_checkpoint_missing", `Run ${run.runId} has no checkpoint yet; let it train first.`);
    }
    const { ref } = await model.weights.load(newest, { optimizer: false });
    const snapshot = await model.weights.snapshot(ref.version);
    return { policy: model.policyAt(snapshot, "sampled"), close: model.close };
  } catch (error) {
    await model.close();
    throw error;
  }
}

async function openModel(recipe: Recipe, generator: TaskGenerator, threads: number, folder: string): Promise<Model> {
  const { alphabet } = generator;
  if (alphabet === null) {
    throw new Failure(
      "config_invalid",
      `Generator ${generator.name} declares no alphabet, so the embedded model cannot read its tasks.`,
    );
  }
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw storeFailure(error, folder);
  });
  // What a process that was killed while it saved has left; the run is ours alone now.
  for (const name of await readdir(folder)) {
    if (name.startsWith(".")) await rm(join(folder, name), { recursive: true, force: true });
  }
  const tokenizer: Tokenizer = charsTokenizer(alphabet);
  const renderer = plainRenderer({ tokenizer, isBare: true });
  const backend = await embeddedBackend({
    shape: recipe.policy.preset,
    contextMax: recipe.policy.contextTokens,
    tokenizer,
    seed: deriveSeed(recipe.seed, "weights"),
    threads,
    checkpointFolder: folder,
    memoryBytesMax: recipe.policy.engineMemoryBytesMax,
    runtime,
  });
  const { trainer } = backend;
  if (trainer === null) throw new Failure("unexpected", "The embedded backend has no trainer.");
  const checkpoints = async (): Promise<readonly string[]> => (await readdir(folder)).filter(isCheckpoint).sort(byAge);
  return {
    weights: {
      ...trainer,
      save: async (name, version, state) => {
        const saved = await trainer.save(name, version, state);
        for (const old of superseded(await checkpoints(), recipe.rl.checkpointsKept))
          await rm(join(folder, old), { recursive: true, force: true });
        return saved;
      },
    },
    sampler: backend.sampler,
    checkpoints,
    policyAt: (snapshot, mode) =>
      sampledPolicy({
        sampler: backend.sampler,
        snapshot: () => snapshot,
        renderer,
        temperature: mode === "greedy" ? 0 : recipe.policy.temperature,
        tokensMax: recipe.policy.answerTokensMax,
        contextMax: recipe.policy.contextTokens,
        name: `embedded-${recipe.policy.preset}`,
      }),
    demonstrations: () => {
      const make = generator.demonstrations;
      if (make === null)
        throw new Failure(
          "config_invalid",
          `Generator ${generator.name} has no demonstrations; set sft.demonstrations = 0.`,
        );
      const { demonstrations, noise } = recipe.sft;
      return make({ count: demonstrations, seed: deriveSeed(recipe.seed, "demonstrations"), noise }).map(
        (demonstration) => demonstrationSequence(demonstration, tokenizer, recipe.policy.contextTokens),
      );
    },
    close: () => backend.close(),
  };
}

/** Prompt with mask 0, answer and `<end>` with mask 1. */
function demonstrationSequence(
  { instruction, answer }: Demonstration,
  tokenizer: Tokenizer,
  contextMax: number,
): TrainSequence {
  const renderer = plainRenderer({ tokenizer, isBare: true });
  const prompt = renderer.promptOf(instruction);
  const tokens = Int32Array.from([...prompt, ...tokenizer.encode(answer), tokenizer.special["<end>"]]);
  if (tokens.length > contextMax) {
    throw new Failure(
      "config_invalid",
      `A demonstration has ${tokens.length} tokens and policy.contextTokens is ${contextMax}; set it to ${tokens.length} or more.`,
    );
  }
  return {
    tokens,
    mask: Uint8Array.from(tokens, (_token, index) => (index >= prompt.length ? 1 : 0)),
    logprobs: new Float32Array(tokens.length),
    temperature: 1,
  };
}

export function runFolder(dataFolder: string, runId: string): string {
  return join(dataFolder, "runs", runId);
}

function hashOf(recipe: Recipe): string {
  return createHash("sha256").update(canonicalJson(recipe)).digest("hex");
}

function isCheckpoint(name: string): boolean {
  return /^(sft-\d{6}|sft-done|rl-\d{6})$/.test(name);
}

function byAge(a: string, b: string): number {
  const order = (name: string): string =>
    (name === "sft-done" ? "sft-9999999" : name).replace("sft", "0").replace("rl", "1");
  return order(a) < order(b) ? -1 : 1;
}

/** Supervised ones once that phase is over, and all but the newest few of the other; `sft-done` is the reference and stays. */
function superseded(names: readonly string[], kept: number): readonly string[] {
  const supervised = names.filter((name) => /^sft-\d/.test(name));
  const reinforced = names.filter((name) => name.startsWith("rl-"));
  return [
    ...(names.includes("sft-done") ? supervised : supervised.slice(0, -1)),
    ...reinforced.slice(0, Math.max(0, reinforced.length - kept)),
  ];
}
