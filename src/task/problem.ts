/**
 * How a malformed task is told: one sentence that names file, line where known, field, value and what to write
 * instead. Every error of the reader is made here, so that none can forget a part.
 */
import { Failure } from "../core/errors.ts";

export interface TaskProblem {
  /** Path of the file, as it was asked for. */
  readonly file: string;
  /** From 1; null where there is none. */
  readonly line?: number | null;
  /** Dotted name of the field; absent when the file itself is at fault. */
  readonly field?: string;
  /** What stands there; absent when nothing does. */
  readonly value?: unknown;
  /** What is wrong, as the end of a sentence. */
  readonly message: string;
  readonly remedy: string;
}

const VALUE_CHARACTERS_MAX = 80;

/** A `task_invalid` failure: `FILE:LINE: FIELD = VALUE MESSAGE; REMEDY.` */
export function taskInvalid(problem: TaskProblem, cause?: unknown): Failure {
  return new Failure("task_invalid", problemText(problem), cause === undefined ? {} : { cause });
}

/** The same sentence for a warning that stops nothing. */
export function problemText(problem: TaskProblem): string {
  const place = problem.line ? `${problem.file}:${problem.line}` : problem.file;
  const value = problem.value === undefined ? "" : ` = ${shown(problem.value)}`;
  const subject = problem.field === undefined ? "" : `${problem.field}${value} `;
  // Messages of parsers may run over several lines.
  return `${place}: ${subject}${problem.message}; ${problem.remedy}.`.replaceAll(/\s*\n\s*/g, " ");
}

/** A value as a person would recognise it, on one line and cut to a readable length. */
function shown(value: unknown): string {
  const text = (() => {
    try {
      return JSON.stringify(value, (_key, member: unknown) => (typeof member === "bigint" ? String(member) : member));
    } catch {
      return String(value);
    }
  })();
  const line = text ?? String(value);
  return line.length <= VALUE_CHARACTERS_MAX ? line : `${line.slice(0, VALUE_CHARACTERS_MAX)}…`;
}
