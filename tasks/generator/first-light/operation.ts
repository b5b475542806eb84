/**
 * One step of a recipe: what it is called in English, how Python says it, and what Python would answer, computed here.
 * A value is a Python list of ints, a str of ASCII, or an int small enough to be exact as a number.
 *
 * Some operations have a trap: a mistake people make with this construct. Traps are what demonstrations get wrong and
 * what wrong solutions are made of.
 */

export type Value = number | string | readonly number[];
export type ValueKind = "list" | "text" | "number";

/** What Python answers; null when it raises. */
export type Answer = Value | null;

/** One way to write a step: code around the inner expression, and what it computes. */
export interface Form {
  readonly python: (inner: string, argument: string) => string;
  readonly evaluate: (value: Value, argument: string) => Answer;
}

export interface Operation extends Form {
  /** Unique; a recipe's composition is the sequence of these names. */
  readonly name: string;
  readonly from: ValueKind;
  readonly to: ValueKind;
  /** Arguments to choose from; the empty text for an operation without one. */
  readonly choices: readonly string[];
  readonly phrase: (argument: string) => string;
  /** The same function, written another way. */
  readonly alternative: (inner: string, argument: string) => string;
  /** `weight` is how readily a demonstrator falls into it, against the other steps of the recipe. */
  readonly trap: (Form & { readonly weight: number }) | null;
}

/** Python's `%`: the result has the sign of the divisor. */
export function modulo(value: number, divisor: number): number {
  const rest = value % divisor;
  return rest !== 0 && rest < 0 !== divisor < 0 ? rest + divisor : rest + 0;
}

/** Python's `[from:to]`, step 1; null stands for an absent bound. */
export function slice<T extends string | readonly number[]>(value: T, from: number | null, to: number | null): T {
  return value.slice(from ?? 0, to ?? value.length) as T;
}

/** Without negative zero, which Python's ints do not have. */
export function integer(value: number): number {
  return value + 0;
}

/** Steps over a list of ints. `k` is the argument as a number; 0 for a step without one. */
export function onList(evaluate: (value: readonly number[], k: number) => Answer): Form["evaluate"] {
  return (value, argument) => (typeof value === "object" ? evaluate(value, Number(argument)) : null);
}

export function onNumber(evaluate: (value: number, k: number) => Answer): Form["evaluate"] {
  return (value, argument) => (typeof value === "number" ? evaluate(value, Number(argument)) : null);
}

export function onText(evaluate: (value: string, argument: string) => Answer): Form["evaluate"] {
  return (value, argument) => (typeof value === "string" ? evaluate(value, argument) : null);
}
