/**
 * A recipe is a short chain of steps over `x`. Here it becomes an English instruction, a Python expression, and the
 * answer Python would give; and here the supply is parted: the sequence of step names alone decides the split, so no
 * two splits share a composition.
 */
import { deriveSeed } from "../../../src/core/random.ts";
import { LIST_OPERATIONS } from "./list-operation.ts";
import type { Answer, Form, Operation, Value, ValueKind } from "./operation.ts";
import { NUMBER_OPERATIONS, TEXT_OPERATIONS } from "./scalar-operation.ts";

export interface Step {
  readonly operation: Operation;
  readonly argument: string;
}

export interface Recipe {
  readonly input: ValueKind;
  readonly steps: readonly Step[];
}

/** A program over `x`: the right one, or a wrong one. */
export interface Program {
  readonly python: string;
  readonly evaluate: (input: Value) => Answer;
}

export const SPLITS = ["train", "held-out", "held-out-hard"] as const;
export type SplitName = (typeof SPLITS)[number];

/** Steps a recipe of a split may have. */
export const STEPS: Readonly<Record<SplitName, readonly [min: number, max: number]>> = {
  train: [1, 3],
  "held-out": [2, 3],
  "held-out-hard": [3, 4],
};

const OPERATIONS: Readonly<Record<ValueKind, readonly Operation[]>> = {
  list: LIST_OPERATIONS,
  number: NUMBER_OPERATIONS,
  text: TEXT_OPERATIONS,
};

/** Steps that can follow a value of this kind. */
export function operationsOn(kind: ValueKind): readonly Operation[] {
  return OPERATIONS[kind];
}

/** What two recipes share when they differ only in arguments. */
export function composition(recipe: Recipe): string {
  return [recipe.input, ...recipe.steps.map((step) => step.operation.name)].join(">");
}

/**
 * The one split a composition belongs to. Single steps are always trained on; of longer ones a quarter is held out. All of
 * four steps and an eighth of three are hard.
 */
export function splitOf(recipe: Recipe): SplitName {
  const { length } = recipe.steps;
  if (length === 1) return "train";
  if (length >= 4) return "held-out-hard";
  const cell = Number(deriveSeed("first-light", "split", composition(recipe)) % 8n);
  if (cell < 2) return "held-out";
  return cell === 2 && length === 3 ? "held-out-hard" : "train";
}

/** What the policy is told. */
export function instructionOf(recipe: Recipe): string {
  const phrases = recipe.steps.map((step) => step.operation.phrase(step.argument));
  return `Write a Python expression over the ${recipe.input} x: ${phrases.join(", ")}`;
}

/** The program that does each step in the given form. */
export function programOf(recipe: Recipe, formOf: (step: Step, index: number) => Form): Program {
  const forms = recipe.steps.map((step, index) => ({ form: formOf(step, index), argument: step.argument }));
  return {
    python: forms.reduce((inner, { form, argument }) => form.python(inner, argument), "x"),
    evaluate: (input) =>
      forms.reduce<Answer>(
        (value, { form, argument }) => (value === null ? null : form.evaluate(value, argument)),
        input,
      ),
  };
}

/** The reference program. */
export function referenceProgram(recipe: Recipe): Program {
  return programOf(recipe, (step) => step.operation);
}

/** The same answers, written another way throughout. */
export function alternativePython(recipe: Recipe): string {
  return programOf(recipe, ({ operation }) => ({ python: operation.alternative, evaluate: operation.evaluate })).python;
}

/** Whether Python would call the two answers equal and of one type. */
export function isSameAnswer(a: Answer, b: Answer): boolean {
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
