/**
 * A thread that decides whether two expressions are equal, with the algebra of @cortex-js/compute-engine. `math-equal.ts`
 * owns it, bounds what it is given, and ends it when it takes too long.
 *
 * Only an allow-list of operators is ever evaluated. Decimals become fractions, so that all arithmetic is exact; a
 * comparison within a tolerance is never asked for. High precision can only refute what the algebra claims.
 */
import { parentPort } from "node:worker_threads";
import { ComputeEngine, type MathJsonExpression } from "@cortex-js/compute-engine";

const OPERATORS = new Set(
  (
    "Add Subtract Negate Multiply Divide Rational Power Square Sqrt Root Exp Ln Log Lb Abs Factorial Binomial Degrees " +
    "Sin Cos Tan Cot Sec Csc Arcsin Arccos Arctan Sinh Cosh Tanh"
  ).split(" "),
);
const CONSTANTS: Readonly<Record<string, string>> = {
  e: "ExponentialE",
  i: "ImaginaryUnit",
  ExponentialE: "ExponentialE",
  ImaginaryUnit: "ImaginaryUnit",
  Pi: "Pi",
  PositiveInfinity: "PositiveInfinity",
  NegativeInfinity: "NegativeInfinity",
};
const NODES_MAX = 400;
const DIGITS_MAX = 400;
const PRECISION_DIGITS = 60;
/** Far above the error of that precision and far below any difference an author means. */
const REFUTED_FROM = 1e-30;
/** Where an identity of unknowns is tried: no special points of the usual functions. */
const SAMPLES = [3, 7, 11];

/** What cannot be decided. */
class Undecided extends Error {}

const engine = new ComputeEngine();
engine.precision = PRECISION_DIGITS;

/** Both texts are bounded by the caller. False as well for what cannot be decided. */
function isEqual(answer: string, expected: string): boolean {
  // Types that the engine infers for the unknowns of one question must not be known to the next.
  engine.pushScope();
  try {
    const [one, other] = [read(answer), read(expected)];
    // A product with 0 swallows every letter, and with it the words between several candidates.
    if ([...one.unknowns].some((name) => !other.unknowns.has(name))) return false;
    const [left, right] = [engine.box(one.json), engine.box(other.json)];
    const difference: MathJsonExpression = ["Subtract", one.json, other.json];
    const isSame =
      left.simplify().isSame(right.simplify()) ||
      engine.box(difference).simplify().isSame(0) ||
      engine.box(["Expand", difference]).evaluate().isSame(0);
    return isSame && !isRefuted(one.json, other.json, [...other.unknowns]);
  } catch {
    return false;
  } finally {
    engine.popScope();
  }
}

/** Whether the two differ in high precision, for constants as they are and for unknowns at a few points. */
function isRefuted(one: MathJsonExpression, other: MathJsonExpression, unknowns: readonly string[]): boolean {
  for (const base of unknowns.length === 0 ? [0] : SAMPLES) {
    const point = Object.fromEntries(unknowns.map((name, index) => [name, ["Rational", base + index, 5] as const]));
    const numberAt = (json: MathJsonExpression) => engine.box(json).subs(point).N();
    const [left, right] = [numberAt(one), numberAt(other)];
    const distance = engine.box(["Abs", ["Subtract", left.json, right.json]]).N().re;
    const size = engine.box(["Abs", right.json]).N().re;
    if (Number.isFinite(distance) && Number.isFinite(size) && distance > REFUTED_FROM * Math.max(1, size)) return true;
  }
  return false;
}

interface Reading {
  readonly json: MathJsonExpression;
  readonly unknowns: ReadonlySet<string>;
}

function read(text: string): Reading {
  const unknowns = new Set<string>();
  let nodes = 0;
  const visit = (value: unknown): MathJsonExpression => {
    nodes += 1;
    if (nodes > NODES_MAX) throw new Undecided("too many parts");
    if (typeof value === "number") return fraction(String(value));
    if (typeof value === "string") return symbol(value, unknowns);
    if (Array.isArray(value)) return call(value);
    if (typeof value === "object" && value !== null && "num" in value) return fraction(String(value.num));
    throw new Undecided("no expression");
  };
  const call = ([operator, ...operands]: readonly unknown[]): MathJsonExpression => {
    const [first] = operands;
    if (operator === "Annotated") return visit(first);
    if (operator === "Delimiter" && operands.length === 1) return visit(first);
    if (operator === "InvisibleOperator") return product(operands);
    if (typeof operator !== "string" || !OPERATORS.has(operator)) throw new Undecided("another operator");
    return [operator, ...operands.map(visit)];
  };
  const product = (operands: readonly unknown[]): MathJsonExpression => {
    const isBare = operands.map((operand) => isNumber(operand));
    // Two numbers side by side may be two answers, or one number.
    if (isBare.some((bare, index) => index > 0 && bare && isBare[index - 1])) throw new Undecided("two numbers");
    const [whole, part] = operands;
    const isMixed = operands.length === 2 && Number.isInteger(whole) && Array.isArray(part) && part[0] === "Divide";
    if (isMixed && isNumber(part[1]) && isNumber(part[2])) return ["Add", visit(whole), visit(part)];
    return ["Multiply", ...operands.map(visit)];
  };
  return { json: visit(engine.parse(text, { form: "raw", strict: false }).json), unknowns };
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || (typeof value === "object" && value !== null && "num" in value);
}

function symbol(name: string, unknowns: Set<string>): MathJsonExpression {
  const constant = Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : undefined;
  if (constant !== undefined) return constant;
  if (!/^(\p{L}|[a-z]{2,7})(_[0-9a-zA-Z])?$/u.test(name)) throw new Undecided("another name");
  unknowns.add(name);
  return name;
}

/** A decimal as the fraction it is. */
function fraction(text: string): MathJsonExpression {
  const found = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d{1,4}))?$/i.exec(text);
  if (found === null) throw new Undecided("no finite number");
  const [, sign = "", whole = "", decimals = "", exponent = "0"] = found;
  const power = Number(exponent) - decimals.length;
  if (whole.length + decimals.length > DIGITS_MAX || Math.abs(power) > DIGITS_MAX) throw new Undecided("too long");
  const digits = BigInt(`${whole}${decimals}` || "0") * (power > 0 ? 10n ** BigInt(power) : 1n);
  const numerator = { num: `${sign === "-" ? "-" : ""}${digits}` };
  return power >= 0 ? numerator : ["Rational", numerator, { num: `${10n ** BigInt(-power)}` }];
}

parentPort?.on("message", ({ id, answer, expected }: { id: number; answer: string; expected: string }) => {
  parentPort?.postMessage({ id, isEqual: isEqual(answer, expected) });
});
parentPort?.postMessage({ id: 0, isEqual: true });
