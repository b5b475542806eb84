/**
 * Hidden inputs of a task: everyday ones, edges, and larger mixes. Numbers near the recipe's own constants and letters it
 * names come up often, since that is where a wrong comparison or a missed letter shows.
 */
import type { Random } from "../../../src/core/random.ts";
import type { Value, ValueKind } from "./operation.ts";
import type { Recipe } from "./recipe-language.ts";

export type TierName = "unit" | "boundary" | "integration";

/** Inputs of each tier, in the order of their weight in the score. */
export const TIER_INPUTS: Readonly<Record<TierName, number>> = { unit: 4, boundary: 5, integration: 3 };

const BOUNDARIES: Readonly<Record<ValueKind, readonly string[]>> = {
  list: ["empty", "single", "negative", "duplicates", "long"],
  text: ["empty", "single", "repeated", "spaces", "long"],
  number: ["zero", "one-digit", "negative", "multiple", "large"],
};

/** What the tests are called, `boundary/empty`; everyday and mixed inputs are numbered. */
export function inputNames(kind: ValueKind, tier: TierName): readonly string[] {
  if (tier === "boundary") return BOUNDARIES[kind].map((name) => `boundary/${name}`);
  return Array.from({ length: TIER_INPUTS[tier] }, (_, index) => `${tier}/${index + 1}`);
}

/** One input for the test of that name. Equal random streams give equal inputs. */
export function drawInput(recipe: Recipe, testName: string, random: Random): Value {
  const [tier = "", name = ""] = testName.split("/");
  const hints = recipe.steps.map((step) => step.argument).filter((argument) => argument !== "");
  switch (recipe.input) {
    case "list":
      return drawList(tier, name, hints.map(Number).filter(Number.isInteger), random);
    case "text":
      return drawText(
        tier,
        name,
        hints.filter((hint) => /^[a-z]$/.test(hint)),
        random,
      );
    case "number":
      return drawNumber(tier, name, hints.map(Number).filter(Number.isInteger), random);
  }
}

function drawList(tier: string, name: string, hints: readonly number[], random: Random): readonly number[] {
  const near = (): number => random.pick(hints.length === 0 ? [0] : hints) + random.integer(-1, 1);
  const any = (): number => (random.integer(1, 4) === 1 ? near() : random.integer(-9, 12));
  const list = (length: number, draw: () => number): number[] => Array.from({ length }, draw);
  if (tier === "unit") return list(random.integer(6, 9), any);
  if (tier === "integration") return list(random.integer(10, 14), any);
  switch (name) {
    case "empty":
      return [];
    case "single":
      return [any()];
    case "negative":
      return list(random.integer(4, 7), () => -random.integer(1, 12));
    case "duplicates": {
      const values = [random.integer(1, 12), random.integer(1, 12), near()];
      return list(random.integer(6, 9), () => random.pick(values));
    }
    default:
      return list(random.integer(24, 32), any);
  }
}

function drawText(tier: string, name: string, hints: readonly string[], random: Random): string {
  const any = (): string =>
    random.integer(1, 3) === 1 && hints.length > 0 ? random.pick(hints) : random.pick([..."aeostbdlmnr"]);
  const text = (length: number, draw: () => string): string => Array.from({ length }, draw).join("");
  if (tier === "unit") return text(random.integer(7, 10), any);
  if (tier === "integration") return [5, 4, 6].map((length) => text(length, any)).join(" ");
  switch (name) {
    case "empty":
      return "";
    case "single":
      return any();
    case "repeated":
      return text(random.integer(4, 7), () => hints[0] ?? "a");
    case "spaces":
      return `${text(2, any)}  ${text(3, any)} ${random.integer(10, 99)}`;
    default:
      return text(random.integer(30, 40), any);
  }
}

function drawNumber(tier: string, name: string, hints: readonly number[], random: Random): number {
  if (tier === "unit") return random.integer(11, 400);
  if (tier === "integration") return random.integer(1, 4) * 1_000 * random.pick([-1, 1]) + random.integer(-999, 999);
  switch (name) {
    case "zero":
      return 0;
    case "one-digit":
      return random.integer(1, 9);
    case "negative":
      return -random.integer(11, 400);
    case "multiple":
      return random.pick(hints.length === 0 ? [10] : hints) * random.integer(2, 30);
    default:
      return random.integer(1_000_000, 9_999_999);
  }
}
