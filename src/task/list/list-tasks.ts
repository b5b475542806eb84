/**
 * Lists and validates every task and generator below a folder. Reading is nearly all processor time, so many folders are
 * read by as many threads as there are processors.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { toFailure } from "../../core/errors.ts";
import type { TaskGenerator } from "../../core/task.ts";
import { findTasks } from "../find-tasks.ts";
import { type TaskEntry, taskEntry, unread } from "./task-entry.ts";

const FOLDERS_OF_ONE_THREAD = 400;
const FOLDERS_AT_ONCE = 50;

export interface ListOptions {
  readonly openGenerator: (folder: string) => Promise<TaskGenerator>;
  readonly threads: number;
  /** Up to this many folders one thread reads them all, as a second would start later than it is done; default 400. */
  readonly foldersOfOneThread?: number;
}

/** Entries by path. One that cannot be read has its fault; throws `task_not_found` where there is nothing. */
export async function listTasks(
  root: string,
  { openGenerator, threads, foldersOfOneThread = FOLDERS_OF_ONE_THREAD }: ListOptions,
): Promise<readonly TaskEntry[]> {
  const found = await findTasks(root);
  const folders = found.filter(({ kind }) => kind === "folder").map(({ folder }) => folder);
  const useThreads = threads > 1 && folders.length > foldersOfOneThread;
  const entries = useThreads ? await readByThreads(folders, threads) : await Promise.all(folders.map(taskEntry));
  const byFolder = new Map(entries.map((entry) => [entry.folder, entry]));
  return Promise.all(
    found.map(({ kind, folder }) =>
      kind === "generator" ? generatorEntry(folder, openGenerator) : (byFolder.get(folder) ?? unread(kind, folder)),
    ),
  );
}

async function generatorEntry(
  folder: string,
  openGenerator: (folder: string) => Promise<TaskGenerator>,
): Promise<TaskEntry> {
  try {
    const generator = await openGenerator(folder);
    const { name } = generator;
    const family = "family" in generator ? String(generator.family) : name;
    return { ...unread("generator", folder), key: name, family, fault: null };
  } catch (error) {
    return { ...unread("generator", folder), fault: toFailure(error).message };
  }
}

async function readByThreads(folders: readonly string[], threads: number): Promise<readonly TaskEntry[]> {
  const waiting = [...folders];
  const entries: TaskEntry[] = [];
  const work = async (worker: Worker): Promise<void> => {
    for (let part = waiting.splice(0, FOLDERS_AT_ONCE); part.length > 0; part = waiting.splice(0, FOLDERS_AT_ONCE)) {
      const answered = once(worker, "message");
      worker.postMessage(part);
      const [answer] = (await answered) as [readonly TaskEntry[]];
      entries.push(...answer);
    }
  };
  const file = import.meta.url.endsWith(".ts") ? "./list-worker.ts" : "./list-worker.js";
  const workers = Array.from({ length: threads }, () => new Worker(new URL(file, import.meta.url)));
  try {
    await Promise.all(workers.map(work));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return entries;
}
