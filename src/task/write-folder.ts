/** Writes drawn tasks down as folders, so that they can be read, changed, checked and kept like any other task. */
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FolderFile } from "../core/task-folder.ts";
import { taskInvalid } from "./problem.ts";

/**
 * Writes the files of one task folder at `target`; the folder appears whole or not at all. Throws `task_invalid` when
 * something is there already.
 */
export async function writeFolder(target: string, files: readonly FolderFile[]): Promise<void> {
  if ((await stat(target).catch(() => null)) !== null) {
    throw taskInvalid({
      file: target,
      message: "is there already",
      remedy: "remove it, or write to another folder with --out",
    });
  }
  const unfinished = `${target}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  for (const { path, bytes, isExecutable } of files) {
    const file = join(unfinished, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes, { mode: isExecutable ? 0o755 : 0o644 });
  }
  await rename(unfinished, target);
}
