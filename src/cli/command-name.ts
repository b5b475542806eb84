/** How a person can start us again from where they are, so that every command we print works when it is pasted. */
import { relative } from "node:path";

/** `sandlot` when installed; from a clone, the pinned Node and this program's source by relative path. */
export function commandName(program = process.argv[1] ?? "", folder = process.cwd()): string {
  if (!program.endsWith(".ts")) return "sandlot";
  const path = relative(folder, program);
  const node = path.startsWith("..") ? process.execPath : "node_modules/.bin/node";
  return `${node} ${path}`;
}
