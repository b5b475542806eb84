/**
 * Makes a task of one's own out of a drawn one: a whole good task of its family, under a new name, no longer tied to the
 * generator, to be rewritten piece by piece while `sandlot task check` keeps saying what no longer holds.
 */
import { parse, stringify } from "smol-toml";
import type { FolderFile } from "../core/task-folder.ts";
import { taskInvalid } from "./problem.ts";

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** The files under the key `local/NAME`. Throws `task_invalid` for a name that is not in kebab-case. */
export function renamedTask(name: string, files: readonly FolderFile[]): readonly FolderFile[] {
  if (!NAME.test(name) || name.length > 60) {
    const remedy = "write one such as top-sellers";
    throw taskInvalid({ file: "task new", field: "name", value: name, message: "is not a kebab-case name", remedy });
  }
  return files.map((file) => {
    if (file.path !== "task.toml") return file;
    const config = parse(new TextDecoder().decode(file.bytes)) as {
      task?: Record<string, unknown>;
      sandlot?: Record<string, unknown>;
    };
    const { generator: _origin, ...sandlot } = config.sandlot ?? {};
    const text = stringify({ ...config, task: { ...config.task, name: `local/${name}` }, sandlot });
    return { ...file, bytes: new TextEncoder().encode(text.endsWith("\n") ? text : `${text}\n`) };
  });
}
