/**
 * Task folders as data. A generator draws whole folders, the same a person could have written, so that one reader, one
 * check and one grading serve both, and a drawn task can be written down and kept.
 */
import type { Random } from "./random.ts";

/** One regular file of a task folder. */
export interface FolderFile {
  /** Relative to the task folder, with `/` between parts. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
}

/** A number that sets how hard a drawn task is. Raising it must not make the task easier. */
export interface Dial {
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly meaning: string;
}

/** What one seed gives: a task folder without what follows from the rest of it. */
export interface DrawnFolder {
  /** Kebab-case, at most 40 characters, for a person: what this task is about. Need not be unique. */
  readonly slug: string;
  /** `task.toml` as a table, without `task.name` and `sandlot.generator`. */
  readonly config: Readonly<Record<string, unknown>>;
  /** All other files but `tests/manifest.json`. */
  readonly files: readonly FolderFile[];
}

/** A seeded, unbounded supply of task folders of one family. */
export interface FolderGenerator {
  /** Kebab-case; also the name of its folder under `tasks/generator/`. */
  readonly name: string;
  readonly family: string;
  /** Raised when any seed yields other bytes. */
  readonly version: number;
  readonly dials: Readonly<Record<string, Dial>>;
  /**
   * Pure: no clock, no network, no randomness but `random`; equal input gives equal bytes on every machine. `dials`
   * holds a value for every dial. Fork `random` by label: `surface` for names, numbers and prose, `structure` for what
   * must be done. Gives null for a draw that fails its own check (trivial, degenerate); it is then drawn anew with
   * another `random`, at most 20 times.
   */
  draw(input: {
    readonly seed: bigint;
    readonly dials: Readonly<Record<string, number>>;
    readonly random: Random;
  }): DrawnFolder | null;
}
