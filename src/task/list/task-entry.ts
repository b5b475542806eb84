/** What a list of tasks says of each: enough to choose by, with its fault where it cannot be read. */
import { toFailure } from "../../core/errors.ts";
import type { FoundTask } from "../find-tasks.ts";
import { readTask } from "../read-folder.ts";

export interface TaskEntry {
  readonly kind: FoundTask["kind"];
  readonly folder: string;
  /** Name of a generator, key of a task; the folder where it cannot be read. */
  readonly key: string;
  readonly family: string;
  /** 1 to 5; null where the author says nothing, and of a generator. */
  readonly level: number | null;
  readonly image: string | null;
  readonly tiers: readonly string[];
  /** Content hash of a task; null of a generator. */
  readonly hash: string | null;
  readonly warnings: readonly string[];
  /** One sentence, where it is no task. */
  readonly fault: string | null;
}

/** The entry of a task folder. Throws nothing. */
export async function taskEntry(folder: string): Promise<TaskEntry> {
  try {
    const { task, warnings } = await readTask(folder);
    const { key, family, hash, image, difficulty, verifier } = task;
    const tiers = verifier.tiers.map(({ name }) => name);
    return {
      kind: "folder",
      folder,
      key,
      family,
      level: difficulty?.level ?? null,
      image,
      tiers,
      hash,
      warnings,
      fault: null,
    };
  } catch (error) {
    return { ...unread("folder", folder), fault: toFailure(error).message };
  }
}

/** The entry of what could not be read. */
export function unread(kind: FoundTask["kind"], folder: string): TaskEntry {
  const nothing = { level: null, image: null, tiers: [], hash: null, warnings: [] };
  return { kind, folder, key: folder, family: "", ...nothing, fault: "could not be read" };
}
