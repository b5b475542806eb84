/** How a person can start us again from where they are, so that every command we print works when it is pasted. */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";

/** This program's source, from the root of a clone. */
const SOURCE = join("src", "cli", "main.ts");

/** `sandlot` when installed; from a clone, the pinned Node and this program's source by relative path. */
export function commandName(program = process.argv[1] ?? "", folder = process.cwd()): string {
  if (!program.endsWith(".ts")) return "sandlot";
  const path = relative(folder, program);
  const node = path === SOURCE ? "node_modules/.bin/node" : process.execPath;
  return `${quoted(node)} ${quoted(path)}`;
}

/** A folder or file of the package, such as `tasks/generator/first-light`, as it is reached from `folder`. */
export function shippedPath(path: string, folder = process.cwd()): string {
  const root = packageFolder();
  const shown = relative(folder, join(root, path));
  return quoted(shown.startsWith("..") ? join(root, path) : shown);
}

/** The package this file belongs to: two folders up as source, three in `dist/`. */
function packageFolder(): string {
  const up = join(import.meta.dirname, "..", "..");
  return existsSync(join(up, "package.json")) ? up : join(up, "..");
}

/** For a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
