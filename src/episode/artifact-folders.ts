/**
 * Says what really stands at a path of a frozen sandbox, part by part, so that no link is followed: reading alone would
 * follow one. Nothing runs there any more, so what was seen stays true. Folders are listed once.
 */
import { Failure } from "../core/errors.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { FileEntry, FileError } from "../core/sandbox-files.ts";

/** Errors of a path that the agent's own doing explains; anything else means that the collector lost it. */
const AGENT_ERRORS: readonly FileError[] = [
  "missing",
  "not_regular",
  "is_directory",
  "not_directory",
  "refused_link",
  "too_large",
  "denied",
];

/** Names in one folder on the way to an artifact; more are the agent's doing. */
const FOLDER_ENTRIES_MAX = 100_000;

/** What stands at a path, or why there is nothing to take. */
export type Standing =
  | { readonly entry: FileEntry; readonly reason: null }
  | { readonly entry: null; readonly reason: string; readonly isAbsent: boolean };

/** Passes for a refusal the agent is answerable for; throws `artifact_lost` for what the collector could not take. */
export function explain(path: string, error: FileError, message: string): void {
  if (AGENT_ERRORS.includes(error)) return;
  throw new Failure(
    "artifact_lost",
    `The artifact ${path} could not be taken out of the sandbox (${error}): ${message}`,
  );
}

/** One collection's view of a frozen sandbox. */
export class Folders {
  readonly sandbox: Sandbox;
  readonly #listings = new Map<string, readonly FileEntry[]>();

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
  }

  /** The file or folder at an absolute path, and otherwise why there is none to take. */
  async standing(path: string): Promise<Standing> {
    let found: FileEntry = { path: "/", kind: "folder", bytes: 0, mode: 0o755 };
    let folder = "";
    for (const part of path.split("/").filter((name) => name !== "")) {
      if (found.kind !== "folder") return nothing(`${folder} is no folder`, false);
      const next = (await this.#list(folder === "" ? "/" : folder)).find((entry) => entry.path === part);
      if (next === undefined) return nothing("nothing is there", true);
      found = next;
      folder = `${folder}/${part}`;
      if (found.kind === "link") return nothing(`${folder} is a link, and links are not followed`, false);
      if (found.kind === "other") return nothing(`${folder} is a device, FIFO or socket`, false);
    }
    return { entry: found, reason: null };
  }

  async #list(folder: string): Promise<readonly FileEntry[]> {
    const known = this.#listings.get(folder);
    if (known !== undefined) return known;
    const listed = await this.sandbox.files.list(folder, { recursive: false, entriesMax: FOLDER_ENTRIES_MAX });
    const entries = listed.ok ? listed.value : [];
    if (!listed.ok) explain(folder, listed.error, listed.message);
    this.#listings.set(folder, entries);
    return entries;
  }
}

function nothing(reason: string, isAbsent: boolean): Standing {
  return { entry: null, reason, isAbsent };
}
