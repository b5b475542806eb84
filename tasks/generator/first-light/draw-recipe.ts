/**
 * Draws recipes of a split. A draw is refused when it teaches nothing: an answer that hardly depends on the input, or a
 * step that could be left out. Refusals redraw with the next number, so equal seeds give equal recipes.
 */
import assert from "node:assert/strict";
import type { Random } from "../../../src/core/random.ts";
import { drawInput } from "./inputs.ts";
import type { Operation, Value, ValueKind } from "./operation.ts";
import {
  isSameAnswer,
  operationsOn,
  programOf,
  type Recipe,
  referenceProgram,
  type SplitName,
  type Step,
  splitOf,
} from "./recipe-language.ts";

const DRAWS_MAX = 2_000;
const PROBES = 24;
/** Of the probes, at most this many may share one answer. */
const COMMON_ANSWER_MAX = 12;
/** Without a step, at least this many probes must get another answer. */
const STEP_EFFECT_MIN = 4;

/** Three of five recipes are over a list: it has most of the steps. */
const INPUTS: readonly ValueKind[] = ["list", "list", "list", "text", "number"];

export function drawRecipe(split: SplitName, stepCount: number, random: Random): Recipe {
  for (let draw = 0; draw < DRAWS_MAX; draw += 1) {
    const recipe = drawAny(stepCount, random);
    if (recipe !== null && splitOf(recipe) === split && teaches(recipe, random)) return recipe;
  }
  assert.fail(`no recipe of ${stepCount} steps was found for split ${split} in ${DRAWS_MAX} draws`);
}

/** Null when the chain ends early: no step of another name fits. */
function drawAny(stepCount: number, random: Random): Recipe | null {
  const input = random.pick(INPUTS);
  const steps: Step[] = [];
  let kind = input;
  while (steps.length < stepCount) {
    const open = operationsOn(kind).filter((operation) => steps.every((step) => step.operation !== operation));
    if (open.length === 0) return null;
    const operation: Operation = random.pick(open);
    steps.push({ operation, argument: random.pick(operation.choices) });
    kind = operation.to;
  }
  return { input, steps };
}

function teaches(recipe: Recipe, random: Random): boolean {
  const probes = Array.from({ length: PROBES }, (_, index): Value => {
    return drawInput(recipe, index % 2 === 0 ? "unit/1" : "integration/1", random);
  });
  const answers = probes.map(referenceProgram(recipe).evaluate);
  const counts = new Map<string, number>();
  for (const answer of answers) {
    const text = JSON.stringify(answer);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  if (Math.max(...counts.values()) > COMMON_ANSWER_MAX) return false;
  return recipe.steps.every((_, left) => {
    const without = withoutStep(recipe, left).evaluate;
    const changed = probes.filter((probe, index) => !isSameAnswer(without(probe), answers[index] ?? null));
    return changed.length >= STEP_EFFECT_MIN;
  });
}

/** The program that forgets one step; where that leaves a wrong type, the rest answers null. */
export function withoutStep(recipe: Recipe, left: number): ReturnType<typeof programOf> {
  return programOf(recipe, (step, index) =>
    index === left ? { python: (inner) => inner, evaluate: (value) => value } : step.operation,
  );
}
