/** Finds what can be run below a folder: task folders (a `task.toml`) and generators (`generator/NAME/generator.ts`). */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../core/errors.ts";
import { GENERATOR_FILES } from "./generator.ts";

export interface FoundTask {
  readonly kind: "folder" | "generator";
  /** To open it with: the root as it was asked for, and the way below it. */
  readonly folder: string;
  /** The way below the root; `.` for the root itself. */
  readonly path: string;
}

const DEPTH_MAX = 8;
const FOUND_MAX = 10_000;
const IGNORED = new Set(["node_modules", "__pycache__"]);

/**
 * Task folders and generators at or below `root`, sorted by path. What lies inside a task folder is part of that task.
 * Throws `task_not_found` when the root is not a folder or holds neither.
 */
export async function findTasks(root: string): Promise<readonly FoundTask[]> {
  const status = await stat(root).catch(() => null);
  if (!status?.isDirectory()) {
    throw new Failure(
      "task_not_found",
      `${root} is not a folder; name a task folder or one that holds some, such as tasks.`,
    );
  }
  const found: FoundTask[] = [];
  await search(root, ".", 0, found);
  if (found.length === 0) {
    throw new Failure(
      "task_not_found",
      `${root} holds no task.toml and no generator.ts; name a folder that does, such as tasks.`,
    );
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

async function search(root: string, path: string, depth: number, found: FoundTask[]): Promise<void> {
  const folder = path === "." ? root : join(root, path);
  const entries = await readdir(folder, { withFileTypes: true });
  const names = new Set(entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name));
  const kind = names.has("task.toml") ? "folder" : GENERATOR_FILES.some((name) => names.has(name)) ? "generator" : null;
  if (kind !== null) {
    if (found.length >= FOUND_MAX) {
      throw new Failure("task_invalid", `${root} holds more than ${FOUND_MAX} tasks; name a folder with fewer.`);
    }
    found.push({ kind, folder, path });
    return;
  }
  if (depth === DEPTH_MAX) return;
  for (const entry of entries) {
    if (!entry.isDirectory() || entry.name.startsWith(".") || IGNORED.has(entry.name)) continue;
    await search(root, path === "." ? entry.name : `${path}/${entry.name}`, depth + 1, found);
  }
}
