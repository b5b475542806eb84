/**
 * One process at a time for one name. The lock is the kernel's, on a file that SQLite opens: it is gone the moment its
 * holder is, however that ended, so there is no stale lock to judge.
 */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Runtime } from "../../core/runtime.ts";

const POLL_MS = 40;

export interface LockOptions {
  readonly runtime: Runtime;
  /** Folder of lock files. */
  readonly folder: string;
  readonly signal?: AbortSignal | undefined;
  /** Called once when somebody else holds it. */
  readonly onWait?: () => void;
}

/** Runs `work` while holding the lock of `name`; waits for it as long as the signal allows. Not reentrant. */
export async function withLock<T>(name: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  mkdirSync(options.folder, { recursive: true });
  const file = join(options.folder, `${createHash("sha256").update(name).digest("hex").slice(0, 32)}.lock`);
  const database = new DatabaseSync(file);
  try {
    for (let isFirst = true; !isTaken(database); isFirst = false) {
      if (isFirst) options.onWait?.();
      await options.runtime.sleep(POLL_MS, options.signal);
    }
    return await work();
  } finally {
    database.close();
  }
}

function isTaken(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (/locked|busy/i.test(String(error))) return false;
    throw error;
  }
}
