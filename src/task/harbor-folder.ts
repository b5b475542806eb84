/**
 * Harbor tasks as their authors wrote them: `tests/test.sh` beside what it reads, in place of tiers, and an image that a
 * Dockerfile or a registry gives. They are brought into the form of the other readers here; what is hashed is the folder
 * as it lies.
 */
import type { FolderFile } from "../core/task-folder.ts";
import { textOf } from "./folder-files.ts";
import type { TaskToml } from "./task-schema.ts";
import { MANIFEST_FILE } from "./task-tests.ts";
import type { TomlDocument } from "./task-toml.ts";

export const DOCKERFILE = "environment/Dockerfile";
const SCRIPT = "tests/test.sh";
const TIER = "unit";
const SCRIPTED: NonNullable<TaskToml["sandlot"]> = {
  risk: ["in-process-tests"],
  tiers: [{ name: TIER, runner: "reward-file" }],
};

/** What the other readers are given. */
export interface SettledFolder {
  readonly files: readonly FolderFile[];
  readonly document: TomlDocument<TaskToml>;
}

/**
 * A script at the top of `tests/` is the one test of a tier, and may read what lies beside it. That it runs beside the
 * product is taken as accepted in a task of another maker; one with a table of ours says so itself, in its tiers.
 */
export function settleHarbor(files: readonly FolderFile[], document: TomlDocument<TaskToml>): SettledFolder {
  const { value } = document;
  const hasTiers = files.some(({ path }) => /^tests\/(?:build|unit|integration|boundary|performance)\//.test(path));
  if (value.sandlot !== undefined || hasTiers || !files.some(({ path }) => path === SCRIPT)) return { files, document };
  const manifest = JSON.stringify({ tests: [{ id: `${TIER}/test.sh`, tier: TIER }] });
  const moved = files
    .filter(({ path }) => path !== MANIFEST_FILE)
    .map((file) =>
      file.path.startsWith("tests/") ? { ...file, path: `tests/${TIER}/${file.path.slice("tests/".length)}` } : file,
    );
  return {
    files: [...moved, { path: MANIFEST_FILE, bytes: new TextEncoder().encode(manifest), isExecutable: false }],
    document: { ...document, value: { ...value, sandlot: SCRIPTED } },
  };
}

/** The folder that the last stage of a Dockerfile works in; null where it names none or there is none. */
export function dockerWorkdir(folder: string, files: readonly FolderFile[]): string | null {
  const file = files.find(({ path }) => path === DOCKERFILE);
  if (file === undefined) return null;
  const stage = textOf(folder, file)
    .split(/^\s*FROM\s/im)
    .at(-1);
  const named = [...(stage ?? "").matchAll(/^\s*WORKDIR\s+"?(\/[^\s"$]*)"?\s*$/gim)].at(-1)?.[1];
  return named === undefined || named === "/" ? null : named;
}
