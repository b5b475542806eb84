/** What differs between the languages of the code repair families: how tests are written, found and run, and edits made. */
import type { Random } from "../../../../src/core/random.ts";
import type { DraftFiles } from "../../../../src/task/draft.ts";

/** An exact piece of a file, and what stands in its place afterwards. */
export interface Edit {
  /** Absolute. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Tests of one subject, and the kebab-case name of it. */
export interface Suite {
  readonly name: string;
  readonly tests: string;
}

export interface Language {
  /** Of the family. */
  readonly name: string;
  readonly keyword: string;
  readonly title: string;
  /** Must be on PATH. */
  readonly programs: readonly string[];
  readonly visibleFile: string;
  readonly visibleCommand: string;
  readonly ownCommand: string;
  /** Below `tests/`. */
  readonly support: DraftFiles;
  testFile(name: string): string;
  visibleText(suites: readonly Suite[]): string;
  hiddenText(suites: readonly Suite[]): string;
  ownText(tests: string): string;
  /** The names of the tests in a piece of test code. */
  testNames(tests: string): readonly string[];
  /** What follows the file in a test's id. */
  testId(suite: string, test: string): string;
  editProgram(edits: readonly Edit[]): string;
  /** A wrong solution that only touches tests. */
  testsOnly(packageName: string): string;
  /** Files of the repository that have nothing to do with the faults, by path below it. */
  around(packageName: string, count: number, random: Random): Readonly<Record<string, string>>;
}
