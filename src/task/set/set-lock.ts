/**
 * The lock of a task set, beside its file: the hash of every task it held when its version was published. A later
 * version says which tasks changed since, so that figures of two versions are never compared as if they were one.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { taskInvalid } from "../problem.ts";
import type { SetTask } from "./set-file.ts";

const HASH = z.string().regex(/^[0-9a-f]{64}$/);
const LOCK_SCHEMA = z.strictObject({
  name: z.string(),
  version: z.int().min(1),
  /** Against the lock that this one replaced. */
  changed: z.array(z.string()),
  tasks: z.array(
    z.strictObject({
      key: z.string(),
      split: z.string(),
      hash: HASH,
      agentHash: HASH,
      verifierHash: HASH,
    }),
  ),
});

export type SetLock = z.infer<typeof LOCK_SCHEMA>;

/** `sets/sql.toml` is locked by `sets/sql.lock.json`. */
export function lockFile(setFile: string): string {
  return `${setFile.replace(/\.toml$/, "")}.lock.json`;
}

/** Null where there is none. Throws `task_invalid` for one that cannot be understood. */
export async function readLock(file: string): Promise<SetLock | null> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw taskInvalid({ file, message: "cannot be read", remedy: "check its permissions" }, error);
  }
  try {
    return LOCK_SCHEMA.parse(JSON.parse(text));
  } catch (error) {
    const remedy = "restore it, or remove it and run sandlot task set lock on the set";
    throw taskInvalid({ file, message: "is no lock of a task set", remedy }, error);
  }
}

/** One sentence part for each task that was added, removed, moved or changed. */
export function changesSince(lock: SetLock, tasks: readonly SetTask[]): readonly string[] {
  const now = new Map(tasks.map((one) => [one.task.key, one]));
  const before = new Set(lock.tasks.map(({ key }) => key));
  const changed = lock.tasks.flatMap(({ key, split, hash, verifierHash, agentHash }) => {
    const one = now.get(key);
    if (one === undefined) return [`${key} is gone`];
    if (one.split !== split) return [`${key} moved from ${split} to ${one.split}`];
    if (one.task.hash === hash) return [];
    if (one.task.agentHash !== agentHash) return [`${key} changed what the agent meets`];
    return [one.task.verifierHash === verifierHash ? `${key} changed its solutions` : `${key} changed its verifier`];
  });
  const added = [...now.keys()].filter((key) => !before.has(key)).map((key) => `${key} is new`);
  return [...changed, ...added];
}

/** The lock of a set as it is now. */
export function lockOf(
  set: { readonly name: string; readonly version: number; readonly tasks: readonly SetTask[] },
  before: SetLock | null,
): SetLock {
  const tasks = [...new Map(set.tasks.map((one) => [one.task.key, one])).values()].map(({ task, split }) => ({
    key: task.key,
    split,
    hash: task.hash,
    agentHash: task.agentHash,
    verifierHash: task.verifierHash,
  }));
  return {
    name: set.name,
    version: set.version,
    changed: before === null ? [] : [...changesSince(before, set.tasks)],
    tasks: tasks.sort((a, b) => (a.key < b.key ? -1 : 1)),
  };
}
