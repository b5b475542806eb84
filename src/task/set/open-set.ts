/**
 * Opens a task set: finds every task that it names, by the order it names them, and holds it against its lock. One task
 * in two splits, or a task that changed under a locked version, is refused by name.
 */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { tomlLine } from "../../core/naming.ts";
import type { Task, TaskGenerator } from "../../core/task.ts";
import { findTasks } from "../find-tasks.ts";
import { taskInvalid } from "../problem.ts";
import { readTaskFolder } from "../read-folder.ts";
import type { TomlDocument } from "../task-toml.ts";
import { parseSet, type SetEntryToml, type SetTask, type SetToml, type TaskSet } from "./set-file.ts";
import { changesSince, lockFile, readLock } from "./set-lock.ts";

export interface OpenSetOptions {
  /** Opens the generator of a folder. Throws `task_invalid`. */
  readonly openGenerator: (folder: string) => Promise<TaskGenerator>;
  /** False opens a set whose tasks differ from its lock, to lock it anew. Default true. */
  readonly isLockHeld?: boolean;
}

const GENERATED_DEFAULT = 100;
const TASKS_MAX = 100_000;

/** Folders in the file are relative to it. Throws `task_invalid`, `task_not_found`. */
export async function openTaskSet(file: string, options: OpenSetOptions): Promise<TaskSet> {
  const document = parseSet(await setText(file), file);
  const { name, version, tasks: entries } = document.value;
  const tasks: SetTask[] = [];
  for (const [index, entry] of entries.entries()) {
    const found = await entryTasks(document, index, entry, options);
    const { split = "train", weight = 1 } = entry;
    // The weight of an entry is shared by its tasks, so that a large folder does not drown a small one.
    for (const task of found) tasks.push({ task, split, weight: weight / found.length });
    if (tasks.length > TASKS_MAX) throw problem(document, index, `holds more than ${TASKS_MAX} tasks`, "name fewer");
  }
  refuseLeaks(document, tasks);
  const set = { name, version, file, tasks };
  if (options.isLockHeld !== false) await refuseChanged(set);
  return set;
}

async function setText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const remedy = "name a file such as task-set.toml that lists tasks";
    throw taskInvalid({ file, message: "cannot be read as a task set", remedy }, error);
  }
}

async function entryTasks(
  document: TomlDocument<SetToml>,
  index: number,
  entry: SetEntryToml,
  { openGenerator }: OpenSetOptions,
): Promise<readonly Task[]> {
  const { path, generator, filter = {} } = entry;
  const base = dirname(document.file);
  if ((path === undefined) === (generator === undefined)) {
    throw problem(document, index, "names a path and a generator, or neither", "write one of path and generator");
  }
  const odd = path === undefined ? [] : (["seed", "count", "dials"] as const).filter((key) => entry[key] !== undefined);
  if (odd[0] !== undefined) {
    throw problem(document, index, `has ${odd[0]}, which is for generators`, `leave ${odd[0]} out, or write generator`);
  }
  const all =
    path === undefined
      ? await drawnTasks(await openGenerator(resolve(base, generator ?? "")), entry)
      : await folderTasks(resolve(base, path), document, index);
  const kept = all.filter((task) => isWanted(task, filter));
  if (kept.length > 0) return kept;
  throw problem(document, index, `leaves none of ${all.length} tasks after its filter`, "widen the filter");
}

async function folderTasks(folder: string, document: TomlDocument<SetToml>, index: number): Promise<readonly Task[]> {
  const found = (await findTasks(folder)).filter(({ kind }) => kind === "folder");
  if (found.length > 0) return Promise.all(found.map((entry) => readTaskFolder(entry.folder)));
  throw problem(document, index, "holds only generators", "name each by generator instead of path");
}

async function drawnTasks(generator: TaskGenerator, entry: SetEntryToml): Promise<readonly Task[]> {
  const { split = "train", seed = 1, count = GENERATED_DEFAULT, dials } = entry;
  // A generator of fewer splits calls its evaluation split held-out.
  const name = generator.splits.includes(split) ? split : split === "eval" ? "held-out" : split;
  return Array.from({ length: count }, (_, index) =>
    generator.generate({ split: name, index, seed: BigInt(seed), ...(dials === undefined ? {} : { dials }) }),
  );
}

function isWanted(task: Task, filter: NonNullable<SetEntryToml["filter"]>): boolean {
  const { families, keywords, keys, level_min = 1, level_max = 5 } = filter;
  const level = task.difficulty?.level ?? 3;
  return (
    (families?.includes(task.family) ?? true) &&
    (keys?.includes(task.key) ?? true) &&
    (keywords?.some((word) => task.keywords?.includes(word) ?? false) ?? true) &&
    level >= level_min &&
    level <= level_max
  );
}

/** What is trained on is never reported on: not the same task, and not one drawn from the same seed. */
function refuseLeaks({ file }: TomlDocument<SetToml>, tasks: readonly SetTask[]): void {
  const seen = new Map<string, SetTask>();
  const keys = new Map<string, SetTask>();
  for (const one of tasks) {
    const { task, split } = one;
    const twin = keys.get(task.key);
    if (twin !== undefined && twin.task.hash !== task.hash) {
      const remedy = "rename one of them, or leave it out by a filter";
      throw taskInvalid({ file, field: "tasks", value: task.key, message: "names two different tasks", remedy });
    }
    keys.set(task.key, one);
    for (const identity of identities(task)) {
      const first = seen.get(identity);
      if (first === undefined) seen.set(identity, one);
      else if (first.split !== split) {
        const message = `is in the split ${first.split} and, as ${task.key}, in ${split}`;
        const remedy = "keep it in one of them by a filter or another seed";
        throw taskInvalid({ file, field: "tasks", value: first.task.key, message, remedy });
      }
    }
  }
}

function identities({ hash, agentHash, generator }: Task): readonly string[] {
  const seed = generator === null ? [] : [`${generator.name}:${generator.seed}`];
  return [hash, agentHash, ...seed];
}

async function refuseChanged(set: TaskSet): Promise<void> {
  const lock = await readLock(lockFile(set.file));
  if (lock === null || lock.version !== set.version) return;
  const changes = changesSince(lock, set.tasks);
  const [first] = changes;
  if (first === undefined) return;
  throw taskInvalid({
    file: set.file,
    field: "version",
    value: set.version,
    message: `is locked with other tasks: ${first}${changes.length === 1 ? "" : ` and ${changes.length - 1} more`}`,
    remedy: `raise version and run sandlot task set lock ${set.file}, or restore the tasks`,
  });
}

function problem({ file, text }: TomlDocument<SetToml>, index: number, message: string, remedy: string): Error {
  return taskInvalid({ file, line: tomlLine(text, ["tasks", index]), field: `tasks[${index}]`, message, remedy });
}
