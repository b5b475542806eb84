/**
 * The hidden inputs of one task with their answers. A grading seed gives new ones, and always such that every known
 * wrong program fails at least one: a verifier that lets one pass would teach it.
 */
import { deriveSeed, randomFrom } from "../../../src/core/random.ts";
import type { MatchCase, Tier } from "../../../src/core/task.ts";
import { drawInput, inputNames, TIER_INPUTS, type TierName } from "./inputs.ts";
import type { Value } from "./operation.ts";
import { isSameAnswer, type Recipe, referenceProgram } from "./recipe-language.ts";
import type { WrongProgram } from "./wrong-program.ts";

/** Whole numbers, so that all tests passed make exactly 1. */
const WEIGHTS: Readonly<Record<TierName, number>> = { unit: 4, boundary: 3, integration: 3 };
const TIER_NAMES = ["unit", "boundary", "integration"] as const;
const WEIGHT_TOTAL = TIER_NAMES.reduce((sum, name) => sum + WEIGHTS[name], 0);

/** Mixed inputs drawn for each one kept, while some wrong program still passes. */
const CANDIDATES = 8;

export const TIERS: readonly Tier[] = TIER_NAMES.map((name) => ({
  name,
  weight: WEIGHTS[name],
  gate: false,
  threshold: 1,
  requires: [],
  visibility: "hidden",
}));

/** The most a program earns that fails at least one test, whichever: the reward less the cheapest test. */
export const NEARLY_RIGHT_REWARD =
  1 - Math.min(...TIER_NAMES.map((name) => WEIGHTS[name] / TIER_INPUTS[name])) / WEIGHT_TOTAL;

export function hiddenCases(
  recipe: Recipe,
  wrong: readonly WrongProgram[],
  taskSeed: bigint,
  gradingSeed: bigint,
): readonly MatchCase[] {
  const random = randomFrom(deriveSeed("first-light", "cases", taskSeed, gradingSeed));
  const { evaluate } = referenceProgram(recipe);
  const isFailed = (program: WrongProgram, input: Value): boolean =>
    !isSameAnswer(program.evaluate(input), evaluate(input));
  const inputs = new Map<string, Value>();
  let passing = wrong;
  const add = (name: string, input: Value): void => {
    inputs.set(name, input);
    passing = passing.filter((program) => !isFailed(program, input));
  };
  for (const tier of ["unit", "boundary"] as const) {
    for (const name of inputNames(recipe.input, tier)) add(name, drawInput(recipe, name, random.fork(name)));
  }
  for (const name of inputNames(recipe.input, "integration")) {
    const draws = random.fork(name);
    const count = passing.length === 0 ? 1 : CANDIDATES;
    const candidates = Array.from({ length: count }, () => drawInput(recipe, name, draws));
    const caught = candidates.map((input) => passing.filter((program) => isFailed(program, input)).length);
    const most = candidates[caught.indexOf(Math.max(...caught))];
    const isCaught = passing.length === 0 || Math.max(...caught) > 0;
    const input = isCaught ? most : passing[0]?.witness;
    if (input !== undefined) add(name, input);
  }
  return [...inputs].map(([id, input]) => ({
    id,
    tier: id.split("/")[0] ?? "",
    args: [input],
    expected: evaluate(input),
  }));
}
