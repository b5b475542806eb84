/**
 * What an importer of another format gives: drafts of task folders, and an honest report of what it mapped, guessed and
 * could not carry. Importers read, never write, and give equal drafts for equal sources.
 */
import type { DrawnFolder } from "../../core/task-folder.ts";

/** What became of one thing in the source. */
export interface ImportNote {
  /** `defaulted`: the source says nothing and something was chosen. `dropped`: it says something that is not carried. */
  readonly kind: "mapped" | "defaulted" | "unknown" | "dropped";
  /** Field or file of the source. */
  readonly field: string;
  /** From 1; null where there is none. */
  readonly line: number | null;
  readonly text: string;
}

export interface ImportedTask {
  readonly drawn: DrawnFolder;
  readonly notes: readonly ImportNote[];
}

/** Something of the source that became no task. */
export interface SkippedTask {
  /** As the source calls it. */
  readonly name: string;
  readonly line: number | null;
  /** One sentence. */
  readonly reason: string;
}

export interface Imported {
  readonly tasks: readonly ImportedTask[];
  readonly skipped: readonly SkippedTask[];
}

export interface ImportOptions {
  /** Written into `metadata.licence`; null where nobody said. */
  readonly licence: string | null;
}

export interface Importer {
  /** As `--format` names it. */
  readonly format: string;
  /** One sentence for help texts. */
  readonly title: string;
  /** Whether the path looks like a source of this format; reads little. */
  detects(path: string): boolean;
  /** Throws `task_invalid` when the source as a whole cannot be read. */
  read(path: string, options: ImportOptions): Promise<Imported>;
}

/** A kebab-case name of at most 40 characters made of any text. */
export function slugOf(text: string): string {
  const slug = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  return slug === "" ? "task" : slug;
}
