/** Makes a whole task folder of what a generator or importer drew: `task.toml` with the task's name, and the manifest. */
import { stringify } from "smol-toml";
import type { DrawnFolder, FolderFile } from "../core/task-folder.ts";
import { manifestText } from "./read-folder.ts";

const encoder = new TextEncoder();

/**
 * All files of the folder, sorted by path; `sandlot` is added to the table of that name. Throws `task_invalid`, naming
 * files below `folder`, when the test files cannot be listed.
 */
export function completeFolder(
  folder: string,
  key: string,
  drawn: DrawnFolder,
  sandlot: Readonly<Record<string, unknown>> = {},
): readonly FolderFile[] {
  const {
    task,
    sandlot: drawnSandlot,
    ...rest
  } = drawn.config as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const config = stringify({ ...rest, task: { name: key, ...task }, sandlot: { ...drawnSandlot, ...sandlot } });
  const withConfig = [...drawn.files, fileOf("task.toml", config.endsWith("\n") ? config : `${config}\n`)];
  const manifest = fileOf("tests/manifest.json", manifestText(folder, withConfig.toSorted(byPath)));
  return [...withConfig, manifest].sort(byPath);
}

function fileOf(path: string, text: string): FolderFile {
  return { path, bytes: encoder.encode(text), isExecutable: false };
}

function byPath(a: FolderFile, b: FolderFile): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
