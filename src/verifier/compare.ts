/**
 * Holds an answer against the expected one, as the case's `Comparison` says. The answer is canonical text of `plain.ts`
 * that a hostile program may have written: it is read as data with bounds, and whatever is no plain value is not equal.
 *
 * Types count by their exact tag: True is no int, and a subclass of one is nothing. NaN and infinity are equal only to
 * themselves, so neither is within any tolerance of a number.
 */
import type { Comparison, PlainData } from "../core/task.ts";
import { canonicalPlain, parseHexFloat } from "./plain.ts";

/** One more level than the driver and `plain.ts` write. */
const DEPTH_MAX = 60;
/** A dict has two levels of text for each of its own. */
const TEXT_DEPTH_MAX = 2 * DEPTH_MAX;
/** Largest set whose members are paired within tolerances; a larger one must be equal. */
const PAIRED_MAX = 1_000;

/** Decides whether two texts are mathematical expressions of equal value. */
export type MathEqual = (answer: string, expected: string) => Promise<boolean>;

/** Whether the canonical text `answer` is right. Throws `task_invalid` for an expected value that is no plain data. */
export async function isRight(
  answer: string,
  expected: PlainData,
  compare: Comparison | undefined,
  mathEqual: MathEqual,
): Promise<boolean> {
  const wanted = canonicalPlain(expected);
  if (answer === wanted) return true;
  if (compare === undefined || compare.kind === "exact") return false;
  const given = parsed(answer);
  const right = parsed(wanted);
  if (given === undefined || right === undefined) return false;
  switch (compare.kind) {
    case "numeric":
      return isNear(given, right, compare, 0);
    case "unordered":
      return isSameMultiset(given, right);
    case "math": {
      const [one, other] = [textOf(given), textOf(right) ?? numberText(right)];
      return one !== null && other !== null && mathEqual(one, other);
    }
  }
}

/**
 * What canonical text spells; undefined for text that is no JSON, or that nests deeper than any value does: to compare
 * it would exhaust the stack, and an answer must not end its own grading as a fault of ours.
 */
function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isShallow(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isShallow(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > TEXT_DEPTH_MAX) return false;
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []));
  }
  return true;
}

function isSameMultiset(given: unknown, right: unknown): boolean {
  const [one, other] = [sequence(given), sequence(right)];
  if (one === null || other === null || one.type !== other.type || one.items.length !== other.items.length)
    return false;
  const sorted = ({ items }: Sequence): string => JSON.stringify(items.map((item) => JSON.stringify(item)).sort());
  return sorted(one) === sorted(other);
}

interface Sequence {
  readonly type: "list" | "tuple";
  readonly items: readonly unknown[];
}

function sequence(value: unknown): Sequence | null {
  if (!Array.isArray(value)) return null;
  const [type, ...items] = value;
  return type === "list" || type === "tuple" ? { type, items } : null;
}

type Tolerances = { readonly absolute: number; readonly relative: number };

function isNear(given: unknown, right: unknown, tolerances: Tolerances, depth: number): boolean {
  if (depth > DEPTH_MAX) return false;
  const [one, other] = [numberOf(given), numberOf(right)];
  if (one !== null || other !== null) return one !== null && other !== null && isNearNumber(one, other, tolerances);
  if (!Array.isArray(given) || !Array.isArray(right)) return given === right;
  const [type, ...items] = given;
  const [rightType, ...rightItems] = right;
  if (type !== rightType || items.length !== rightItems.length) return false;
  const near = (a: unknown, b: unknown): boolean => isNear(a, b, tolerances, depth + 1);
  switch (type) {
    case "list":
    case "tuple":
      return items.every((item, index) => near(item, rightItems[index]));
    case "dict":
      return items.every((item, index) => isNearPair(item, rightItems[index], near));
    case "set":
    case "frozenset":
      return canPair(items, rightItems, near);
    default:
      return JSON.stringify(given) === JSON.stringify(right);
  }
}

/** Keys are names, so they must be equal; both sides are sorted by them. */
function isNearPair(pair: unknown, right: unknown, near: (a: unknown, b: unknown) => boolean): boolean {
  if (!Array.isArray(pair) || !Array.isArray(right) || pair.length !== 2) return false;
  return JSON.stringify(pair[0]) === JSON.stringify(right[0]) && near(pair[1], right[1]);
}

/** Whether every member has a partner of its own: augmenting paths, as greedy pairing may take another's only one. */
function canPair(
  items: readonly unknown[],
  others: readonly unknown[],
  near: (a: unknown, b: unknown) => boolean,
): boolean {
  if (items.length > PAIRED_MAX) return JSON.stringify(items) === JSON.stringify(others);
  const partnerOf = new Map<number, number>();
  const find = (item: number, tried: Set<number>): boolean => {
    for (const [at, other] of others.entries()) {
      if (tried.has(at) || !near(items[item], other)) continue;
      tried.add(at);
      const taken = partnerOf.get(at);
      if (taken === undefined || find(taken, tried)) {
        partnerOf.set(at, item);
        return true;
      }
    }
    return false;
  };
  return items.every((_, item) => find(item, new Set()));
}

/** An int exactly, a float as it is. A whole float and the equal int are the same number here. */
function numberOf(value: unknown): bigint | number | null {
  if (!Array.isArray(value) || value.length !== 2 || typeof value[1] !== "string") return null;
  const [type, text] = value;
  if (type === "int" && /^-?(\d{1,20}|0x[0-9a-f]+)$/.test(text)) {
    return text.startsWith("-") ? -BigInt(text.slice(1)) : BigInt(text);
  }
  return type === "float" ? floatOf(text) : null;
}

function floatOf(text: string): number | null {
  try {
    return parseHexFloat(text);
  } catch {
    return null;
  }
}

function isNearNumber(given: bigint | number, right: bigint | number, { absolute, relative }: Tolerances): boolean {
  if (given === right) return true;
  const tolerance = Math.max(absolute, relative * Math.abs(Number(right)));
  if (typeof given === "bigint" && typeof right === "bigint") {
    const distance = given > right ? given - right : right - given;
    return Number.isFinite(tolerance) ? Number(distance) <= tolerance : isNearShare(distance, right, relative);
  }
  const [one, other] = [Number(given), Number(right)];
  if (Number.isNaN(one) && Number.isNaN(other)) return true;
  if (!Number.isFinite(one) || !Number.isFinite(other)) return one === other && typeof given === typeof right;
  return Math.abs(one - other) <= tolerance;
}

/** The same for integers no float holds, whose tolerance as a float would be infinite and let anything pass. */
function isNearShare(distance: bigint, right: bigint, relative: number): boolean {
  const share = BigInt(Math.floor(Math.min(relative, 1) * 2 ** 53));
  return distance << 53n <= share * (right < 0n ? -right : right);
}

/** The text a canonical text spells; null for any other value. */
function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || value[0] !== "text" || value.length !== 2 || typeof value[1] !== "string") return null;
  return /^([0-9a-f]{4})*$/.test(value[1]) ? Buffer.from(value[1], "hex").toString("utf16le") : null;
}

function numberText(value: unknown): string | null {
  const number = numberOf(value);
  return number === null || (typeof number === "number" && !Number.isFinite(number)) ? null : String(number);
}
