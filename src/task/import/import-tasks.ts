/** Imports a source: completes its drafts as task folders, reads each like every other folder, and makes the report. */

import { toFailure } from "../../core/errors.ts";
import type { FolderFile } from "../../core/task-folder.ts";
import { completeFolder } from "../complete-folder.ts";
import { taskOfFiles } from "../read-folder.ts";
import type { ImportNote, ImportOptions, SkippedTask } from "./import-contract.ts";
import { importerOf } from "./importers.ts";

export interface CompletedTask {
  /** Of its folder. */
  readonly name: string;
  readonly files: readonly FolderFile[];
}

/** `import-report.json`: wire, disk and code names are equal. */
export interface ImportReport {
  readonly format: string;
  readonly source: string;
  readonly tasks: readonly { readonly name: string; readonly notes: readonly ImportNote[] }[];
  readonly skipped: readonly SkippedTask[];
}

/**
 * Equal sources give equal bytes. A task that comes out malformed is skipped and says why. Throws `task_invalid` when the
 * source as a whole cannot be read.
 */
export async function importTasks(
  path: string,
  format: string | null,
  options: ImportOptions,
): Promise<{ readonly tasks: readonly CompletedTask[]; readonly report: ImportReport }> {
  const importer = importerOf(path, format);
  const { tasks: drafts, skipped } = await importer.read(path, options);
  const completed: CompletedTask[] = [];
  const reported: { readonly name: string; readonly notes: readonly ImportNote[] }[] = [];
  const refused: SkippedTask[] = [];
  const taken = new Set<string>();
  for (const { drawn, notes } of drafts) {
    const name = freeName(drawn.slug, taken);
    try {
      const files = completeFolder(name, `${importer.format}/${name}`, drawn);
      taskOfFiles(name, files);
      completed.push({ name, files });
      reported.push({ name, notes });
    } catch (error) {
      refused.push({ name, line: null, reason: `What became of it is no task: ${toFailure(error).message}` });
    }
  }
  const source = path.replace(/\/+$/, "").split("/").at(-1) ?? path;
  return {
    tasks: completed,
    report: { format: importer.format, source, tasks: reported, skipped: [...skipped, ...refused] },
  };
}

/** Two sources of one name become two folders. */
function freeName(slug: string, taken: Set<string>): string {
  let name = slug;
  for (let count = 2; taken.has(name); count += 1) name = `${slug}-${count}`;
  taken.add(name);
  return name;
}
