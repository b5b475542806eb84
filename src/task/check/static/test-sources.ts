/** The hidden test files of a task as text, and where a piece of text stands in them: what all static checks share. */
import type { Task } from "../../../core/task.ts";
import type { TestSource } from "../../task-tests.ts";

/** Hidden test files of a task as text, with paths relative to `tests/`; none for a task without files. */
export function sourcesOf(task: Task): readonly TestSource[] {
  if (task.verifier.kind !== "tests") return [];
  return task.verifier.files
    .filter(({ path }) => /\.(?:py|mjs|js|sh|json)$/.test(path))
    .map(({ path, bytes }) => ({ path: path.slice("/tests/".length), text: new TextDecoder().decode(bytes) }));
}

/** A file of the task as a person can open it. */
export function fileName(task: Task, path: string): string {
  return task.folder === null ? path : `${task.folder}/${path}`;
}

/** The first line that matches, with its number from 1. */
export function firstLine(text: string, pattern: RegExp): { readonly line: number; readonly text: string } | null {
  const lines = text.split("\n");
  const index = lines.findIndex((line) => pattern.test(line));
  return index < 0 ? null : { line: index + 1, text: (lines[index] ?? "").trim() };
}

/** All hidden test files as one text; of a task with cases in place of files, the cases of one seed. */
export function hiddenText(task: Task): string {
  if (task.verifier.kind === "match") {
    const shown = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
    return JSON.stringify(task.verifier.cases(0n), shown);
  }
  return sourcesOf(task)
    .filter(({ path }) => path !== "manifest.json")
    .map(({ text }) => text)
    .join("\n");
}
