/** Finds tasks: those of a folder that a person names, and again those of a run that is stored. */
import { join } from "node:path";
import { openGenerator } from "./app-parts.ts";
import { type StoredConfig, taskReader } from "./app-train.ts";
import { Failure } from "./core/errors.ts";
import { deriveSeed } from "./core/random.ts";
import type { RunRow, TrajectoryRow } from "./core/store.ts";
import type { Task } from "./core/task.ts";
import { recipeSchema } from "./run/recipe.ts";
import { sectionOf, trainSections } from "./run/sections.ts";
import { writesFolders } from "./task/folder-generator.ts";
import { readTaskFolder } from "./task/read-folder.ts";
import { findTasks } from "./task/task-set.ts";
import { writeFolder } from "./task/write-folder.ts";

/** Which tasks of a target. */
export interface TaskChoice {
  /** Of a generator; null means its first held-out one. */
  readonly split: string | null;
  /** Most tasks taken of a generator. */
  readonly tasksMax: number;
  readonly seed: number;
}

export interface GenerateChoice {
  readonly split: string;
  readonly count: number;
  readonly seed: number;
  /** One exact seed instead of those of a split: what `[sandlot.generator]` of a written task says. */
  readonly exactSeed: bigint | null;
  /** A dial that is left out is drawn. */
  readonly dials: Readonly<Record<string, number>>;
  /** Folder that the task folders are written into. */
  readonly out: string;
}

/**
 * Writes tasks of a generator as folders and gives their paths. Throws `task_invalid` for a generator that only makes
 * tasks in memory, for an unknown split or dial, and where a folder is there already.
 */
export async function generateTasks(folder: string, choice: GenerateChoice): Promise<readonly string[]> {
  const generator = await openGenerator(folder);
  if (!writesFolders(generator)) {
    throw new Failure(
      "task_invalid",
      `${folder}: generator ${generator.name} makes tasks in memory only; name one that draws folders.`,
    );
  }
  const { split, seed, exactSeed, dials, out } = choice;
  const written: string[] = [];
  for (let index = 0; index < (exactSeed === null ? choice.count : 1); index += 1) {
    const drawn = exactSeed ?? generator.seedOf({ split, index, seed: deriveSeed(seed, "tasks") });
    const { name, files } = generator.write({ seed: drawn, dials });
    await writeFolder(join(out, name), files);
    written.push(join(out, name));
  }
  return written;
}

/** A task folder, a generator folder, or a folder of task folders. */
export async function tasksOf(
  target: string,
  options: TaskChoice,
): Promise<{ readonly tasks: readonly Task[]; readonly taskSet: string }> {
  const found = await findTasks(target);
  const generators = found.filter((entry) => entry.kind === "generator");
  const folders = found.filter((entry) => entry.kind === "folder");
  if (folders.length > 0) {
    const tasks = await Promise.all(folders.map((entry) => readTaskFolder(entry.folder)));
    return { tasks, taskSet: `${tasks.length}-folders` };
  }
  const [first] = generators;
  if (first === undefined) {
    throw new Failure(
      "task_not_found",
      `There is no task.toml and no generator.ts in ${target}. Try tasks/ or tasks/generator/first-light.`,
    );
  }
  const generator = await openGenerator(first.folder);
  const split = options.split ?? generator.splits.find((name) => name !== "train") ?? generator.splits[0] ?? "train";
  const seed = deriveSeed(options.seed, "tasks");
  const tasks = Array.from({ length: options.tasksMax }, (_, index) => generator.generate({ split, index, seed }));
  return { tasks, taskSet: join(`${generator.name}@${generator.version}`, split) };
}

/** The task of a stored episode; null where there is none of its key any more. */
export type TaskOfRow = (row: Pick<TrajectoryRow, "groupNo" | "taskKey">) => Task | null;

/**
 * The tasks of a stored run as they are now, in the folder that it was started with, or in another one that holds
 * tasks of the same keys (of a generator, the same positions). Throws `not_found` where that folder is unknown.
 */
export async function tasksOfRun(run: RunRow, folder: string | null): Promise<TaskOfRow> {
  return run.kind === "train" ? trainedTasks(run, folder) : evaluatedTasks(run, folder);
}

async function trainedTasks(run: RunRow, folder: string | null): Promise<TaskOfRow> {
  const config = JSON.parse(run.config) as StoredConfig;
  const recipe = recipeSchema.parse(config.recipe);
  const generator = await openGenerator(folder ?? config.generatorFolder);
  const read = taskReader(generator, recipe.seed);
  const sections = trainSections(recipe);
  return ({ groupNo, taskKey }) => {
    const section = sectionOf(sections, groupNo);
    const task = read(section.split, groupNo - section.groupFirst);
    return task.key === taskKey ? task : null;
  };
}

async function evaluatedTasks(run: RunRow, folder: string | null): Promise<TaskOfRow> {
  const config = JSON.parse(run.config) as TaskChoice & { readonly folder?: string };
  const target = folder ?? config.folder;
  if (target === undefined) {
    throw new Failure(
      "not_found",
      `Run ${run.runId} was stored before runs named the folder of their tasks; name it with --verifier FOLDER.`,
    );
  }
  const { tasks } = await tasksOf(target, config);
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  // A generator may draw the same task twice, so the position counts first.
  return ({ groupNo, taskKey }) => {
    const placed = tasks[groupNo - 1];
    return placed?.key === taskKey ? placed : (byKey.get(taskKey) ?? null);
  };
}
