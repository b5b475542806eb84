/** Finds tasks: those of a folder that a person names, and again those of a run that is stored. */
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { openGenerator, packageFolder } from "./app-parts.ts";
import { type StoredConfig, taskReader } from "./app-train.ts";
import { Failure } from "./core/errors.ts";
import { nearestName } from "./core/naming.ts";
import { deriveSeed } from "./core/random.ts";
import type { RunRow, TrajectoryRow } from "./core/store.ts";
import type { Task } from "./core/task.ts";
import { cellOfReference } from "./rollout/source.ts";
import { recipeSchema } from "./run/recipe.ts";
import { sectionOf, trainSections } from "./run/sections.ts";
import { findTasks } from "./task/find-tasks.ts";
import { writesFolders } from "./task/folder-generator.ts";
import { type ImportReport, importTasks } from "./task/import/import-tasks.ts";
import { renamedTask } from "./task/new-task.ts";
import { readTaskFolder } from "./task/read-folder.ts";
import { openTaskSet } from "./task/set/open-set.ts";
import type { TaskSet } from "./task/set/set-file.ts";
import { changesSince, lockFile, lockOf, readLock, type SetLock } from "./task/set/set-lock.ts";
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

/**
 * Writes a task of a shipped family under a new name, and gives its folder. Throws `task_not_found` for an unknown family,
 * `task_invalid` for an odd name or where the folder is there already.
 */
export async function newTask(
  family: string,
  name: string,
  { out, seed }: { readonly out: string; readonly seed: number },
): Promise<string> {
  const generators = join(packageFolder(), "tasks", "generator");
  const opened = await Promise.all(
    (await findTasks(generators)).map(async ({ folder }) => ({ folder, generator: await openGenerator(folder) })),
  );
  const drawing = opened.flatMap(({ folder, generator }) =>
    writesFolders(generator) ? [{ name: basename(folder), generator }] : [],
  );
  const generator = drawing.find(({ name: known }) => known === family)?.generator;
  if (generator === undefined) {
    const families = drawing.map(({ name: known }) => known);
    const nearest = nearestName(family, families);
    throw new Failure(
      "task_not_found",
      `No shipped family is called "${family}"${nearest === null ? "." : `; did you mean ${nearest}?`} Families: ${families.join(", ")}.`,
    );
  }
  const drawn = generator.seedOf({ split: "train", index: 0, seed: deriveSeed(seed, "new") });
  const files = renamedTask(name, generator.write({ seed: drawn, dials: {} }).files);
  const folder = join(out, name);
  await writeFolder(folder, files);
  return folder;
}

/**
 * Writes what an import makes, and its report beside it. Throws `task_invalid` for a source that is in no known format or
 * where a folder is there already.
 */
export async function importInto(
  source: string,
  { out, format, licence }: { readonly out: string; readonly format: string | null; readonly licence: string | null },
): Promise<{ readonly report: ImportReport; readonly folders: readonly string[] }> {
  const { tasks, report } = await importTasks(resolve(source), format, { licence });
  for (const { name, files } of tasks) await writeFolder(join(out, name), files);
  await mkdir(out, { recursive: true });
  await writeFile(join(out, "import-report.json"), `${JSON.stringify(report, null, 2)}\n`);
  return { report, folders: tasks.map(({ name }) => join(out, name)) };
}

/** A task folder, a generator folder, a folder of task folders, or the file of a task set. */
export async function tasksOf(
  target: string,
  options: TaskChoice,
): Promise<{ readonly tasks: readonly Task[]; readonly taskSet: string }> {
  if (target.endsWith(".toml")) return tasksOfSet(target, options.split);
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

/** Of a set, the split that was asked for, else what is not trained on, else all. */
async function tasksOfSet(
  file: string,
  split: string | null,
): Promise<{ readonly tasks: readonly Task[]; readonly taskSet: string }> {
  const set = await openTaskSet(file, { openGenerator });
  const splits = new Set(set.tasks.map((one) => one.split));
  const chosen = split ?? (["eval", "held-out"] as const).find((name) => splits.has(name)) ?? "train";
  const tasks = set.tasks.filter((one) => one.split === chosen).map(({ task }) => task);
  const taskSet = join(`${set.name}@${set.version}`, chosen);
  if (tasks.length > 0) return { tasks, taskSet };
  throw new Failure("task_not_found", `${file} has no split "${chosen}"; it has ${[...splits].join(", ")}.`);
}

/** A task set with what changed since its lock. Throws `task_invalid`. */
export async function showSet(file: string): Promise<{ readonly set: TaskSet; readonly changes: readonly string[] }> {
  const set = await openTaskSet(file, { openGenerator, isLockHeld: false });
  const lock = await readLock(lockFile(file));
  return { set, changes: lock === null ? [] : changesSince(lock, set.tasks) };
}

/**
 * Pins the tasks of a set's version in its lock file, and gives the lock. Throws `task_invalid` where this version is
 * locked with other tasks already.
 */
export async function lockSet(file: string): Promise<SetLock> {
  const { set, changes } = await showSet(file);
  const before = await readLock(lockFile(file));
  if (before !== null && before.version >= set.version && changes.length > 0) {
    throw new Failure(
      "task_invalid",
      `${file}: version = ${set.version} is not above the locked ${before.version}, and its tasks differ: ${changes[0]}; raise version.`,
    );
  }
  if (before !== null && changes.length === 0 && before.version === set.version) return before;
  const lock = lockOf(set, before);
  await writeFile(lockFile(file), `${JSON.stringify(lock, null, 2)}\n`);
  return lock;
}

/** The task of a stored episode; null where there is none of its key any more. */
export type TaskOfRow = (row: Pick<TrajectoryRow, "groupNo" | "taskKey" | "taskRef">) => Task | null;

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
  return ({ groupNo, taskKey, taskRef }) => {
    const section = sectionOf(sections, groupNo);
    const task = read(section.split, groupNo - section.groupFirst, cellOfReference(taskRef));
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
