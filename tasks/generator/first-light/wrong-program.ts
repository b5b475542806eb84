/**
 * Wrong programs for a recipe: nothing at all, a step left out, a step's trap, a constant, and one that is right except
 * on the empty input. They test the verifier, and the hidden inputs are chosen so that each of them fails.
 */
import type { Random } from "../../../src/core/random.ts";
import { withoutStep } from "./draw-recipe.ts";
import { drawInput } from "./inputs.ts";
import type { Answer, Value } from "./operation.ts";
import { isSameAnswer, type Program, programOf, type Recipe, referenceProgram } from "./recipe-language.ts";

export interface WrongProgram extends Program {
  readonly name: string;
  /** An input on which it is wrong. */
  readonly witness: Value;
  /** `always`: on every input. `edge`: only where x is empty or 0. `often`: on enough inputs to be told apart by a few. */
  readonly wrong: "always" | "often" | "edge" | "seldom";
}

const PROBES = 24;
/** Wrong on this many probes, a program fails some hidden input with certainty for all practical purposes. */
const OFTEN_MIN = 6;

/** Every wrong program of the recipe that differs from the right one on some probe. */
export function wrongPrograms(recipe: Recipe, random: Random): readonly WrongProgram[] {
  const reference = referenceProgram(recipe);
  const probes = Array.from({ length: PROBES }, (_, index) =>
    drawInput(recipe, index % 2 === 0 ? "unit/1" : "integration/1", random),
  );
  const [probe] = probes;
  const empty: Value = recipe.input === "list" ? [] : recipe.input === "text" ? "" : 0;
  const programs: WrongProgram[] = [
    { name: "not-python", python: "x[", evaluate: () => null, witness: probe ?? empty, wrong: "always" },
    { name: "none", python: "None", evaluate: () => null, witness: probe ?? empty, wrong: "always" },
    {
      name: "wrong-when-empty",
      python: `${reference.python} if x else None`,
      evaluate: (input) => (isEmpty(input) ? null : reference.evaluate(input)),
      witness: empty,
      wrong: "edge",
    },
  ];
  for (const { name, python, evaluate } of mistakes(recipe, probes)) {
    if (python === reference.python || programs.some((known) => known.python === python)) continue;
    const missed = probes.filter((input) => !isSameAnswer(evaluate(input), reference.evaluate(input)));
    const witness = missed[0];
    if (witness === undefined) continue;
    programs.push({ name, python, evaluate, witness, wrong: missed.length >= OFTEN_MIN ? "often" : "seldom" });
  }
  return programs;
}

/** Python's truth of a value, negated. */
function isEmpty(input: Value): boolean {
  return typeof input === "number" ? input === 0 : input.length === 0;
}

/** In order of interest: traps first, then what a lazy policy would try. */
function mistakes(recipe: Recipe, probes: readonly Value[]): readonly (Program & { readonly name: string })[] {
  const trapped = recipe.steps.flatMap((step, at) => {
    const { trap, name } = step.operation;
    if (trap === null) return [];
    return [{ name: `trap-${name}`, ...programOf(recipe, (other, index) => (index === at ? trap : other.operation)) }];
  });
  const forgotten = recipe.steps.map((step, at) => ({
    name: `without-${step.operation.name}`,
    ...withoutStep(recipe, at),
  }));
  const { evaluate } = referenceProgram(recipe);
  const constants = probes.slice(0, 3).map((probe, index) => constant(`constant-${index + 1}`, evaluate(probe)));
  return [...trapped, ...forgotten, { name: "unchanged", python: "x", evaluate: (input) => input }, ...constants];
}

/** The answer to one input, given to all: JSON of ints, lists of ints and ASCII texts is Python too. */
function constant(name: string, answer: Answer): Program & { readonly name: string } {
  return { name, python: JSON.stringify(answer), evaluate: () => answer };
}
