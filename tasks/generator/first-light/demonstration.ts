/**
 * Demonstrations by a careless programmer: all steps are known, but in a share of recipes one step falls into its trap,
 * the same one whenever that recipe comes up. What is wrong is systematic, so reinforcement has something real to remove.
 */
import { deriveSeed, type Random, randomFrom } from "../../../src/core/random.ts";
import type { Demonstration } from "../../../src/core/task.ts";
import { drawRecipe } from "./draw-recipe.ts";
import { instructionOf, programOf, type Recipe, referenceProgram } from "./recipe-language.ts";

/** How many of ten demonstrations have one, two and three steps. */
const STEP_COUNTS = [1, 1, 2, 2, 2, 2, 3, 3, 3, 3];

export function demonstrations(input: {
  readonly count: number;
  readonly seed: bigint;
  readonly noise: number;
}): readonly Demonstration[] {
  return Array.from({ length: input.count }, (_, index) => {
    const random = randomFrom(deriveSeed("first-light", "demonstration", input.seed, index));
    const recipe = drawRecipe("train", random.pick(STEP_COUNTS), random);
    return { instruction: instructionOf(recipe), answer: demonstratedPython(recipe, input.noise) };
  });
}

/** With `noise` 1 every recipe that has a trap falls into one. */
export function demonstratedPython(recipe: Recipe, noise: number): string {
  const habit = randomFrom(deriveSeed("first-light", "habit", instructionOf(recipe)));
  if (habit.float() >= noise) return referenceProgram(recipe).python;
  const at = trappedStep(recipe, habit);
  return programOf(recipe, ({ operation }, index) => (index === at ? (operation.trap ?? operation) : operation)).python;
}

/** Index of the step that goes wrong, by weight of the traps; -1 without any. */
function trappedStep(recipe: Recipe, random: Random): number {
  const weights = recipe.steps.map(({ operation }) => operation.trap?.weight ?? 0);
  let left = random.float() * weights.reduce((sum, weight) => sum + weight, 0);
  return weights.findIndex((weight) => {
    left -= weight;
    return weight > 0 && left < 0;
  });
}
