import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { systemRuntime } from "../runtime/system.ts";
import { mathEquality, readable } from "./math-equal.ts";

const mathematics = mathEquality(systemRuntime());
const { equal } = mathematics;

afterAll(() => mathematics.close());

test.each([
  ["1/2", "0.5"],
  ["\\frac{1}{2}", "2/4"],
  ["$\\dfrac{3}{6}$", "1/2"],
  ["\\boxed{\\frac12}", "1/2"],
  ["\\sqrt{8}", "2\\sqrt{2}"],
  ["sqrt(8)", "2\\sqrt{2}"],
  ["2^{1/2}", "\\sqrt2"],
  ["2^0.5", "\\sqrt2"],
  ["\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt{2}}"],
  ["\\frac{1}{1+\\sqrt{2}}", "\\sqrt{2}-1"],
  ["(x+1)^2", "x^2+2x+1"],
  ["x*(y+1)", "xy + x"],
  ["x(x+1)(x+2)", "x^3+3x^2+2x"],
  ["(a+b)^3", "a^3+3a^2b+3ab^2+b^3"],
  ["1", "\\sin^2 x + \\cos^2 x"],
  ["10^12", "1000000000000"],
  ["x**10 * x", "x^{11}"],
  ["\\ln 4", "2\\ln 2"],
  ["\\cos(\\pi/3)", "0.5"],
  ["2π", "\\pi + \\pi"],
  ["-2^2", "-4"],
  ["1\\frac{2}{3}", "5/3"],
  ["0.1+0.2", "0.3"],
  ["10^{30}+1", "1+10^{30}"],
  ["\\left(\\frac{2}{3}\\right)^{-1}", "1.5"],
])("%s is %s", async (answer, expected) => {
  expect(await equal(answer, expected)).toBe(true);
});

test.each([
  ["a near decimal", "0.333333333333333333", "1/3"],
  ["a near decimal of a root", "1.414213562373095", "\\sqrt{2}"],
  ["a near decimal of π", "3.14159265358979", "\\pi"],
  ["a difference in the thirtieth place", "\\sqrt{2}+10^{-30}", "\\sqrt{2}"],
  ["a number famous for being near", "e^{\\pi\\sqrt{163}}", "262537412640768744"],
  ["the other sign", "-\\sqrt{4}", "2"],
  ["a root that drops the sign", "\\sqrt{x^2}", "x"],
  ["another polynomial", "x^2+2x+2", "(x+1)^2"],
  ["another unknown", "y", "x"],
  ["nothing", "", "0"],
  ["NaN for NaN", "nan", "nan"],
  ["0/0 for 1", "0/0", "1"],
  ["infinity for a number", "1/0", "10^{300}"],
])("%s is not equal", async (_name, answer, expected) => {
  expect(await equal(answer, expected)).toBe(false);
});

/** Pattern 54: several candidates in one answer, of which one is right. */
test.each([
  "1 or 2",
  "2 or 1",
  "0 or 2",
  "1, 2",
  "1; 2",
  "2 and 1",
  "1\n2",
  "2 1",
  "1 2",
  "1\\ 2",
  "1\\,2",
  "{1}{2}",
  "1\\\\2",
  "\\pm 2",
  "\\{1, 2\\}",
  "x = 2",
  "2 = 2",
  "1 \\lor 2",
  "1 \\text{ or } 2",
  "\\begin{cases}1\\\\2\\end{cases}",
  "2 (or 1)",
  "not 2",
  "the answer is 2",
  "2 ± 0",
  "$1$ $2$",
])("%j, which holds more than one answer or words, is not 2, 1 or 0", async (answer) => {
  for (const expected of ["2", "1", "0", "12"]) expect(await equal(answer, expected)).toBe(false);
});

test("words that a product with 0 would swallow are not 0", async () => {
  expect(await equal("0xyz", "0")).toBe(false);
  expect(await equal("0x", "0")).toBe(false);
  expect(await equal("x-x", "0")).toBe(false);
  expect(await equal("x-x", "0x")).toBe(true);
});

test.each([
  ["a tower of powers", "9^{9^{9^{9}}}"],
  ["a plain tower of powers", "9^9^9^9"],
  ["a factorial of factorials", "((99!)!)!"],
  ["a large factorial", "99999999!"],
  ["a power of a long polynomial", `(${[..."abcdefghjklmnop"].join("+")})^{60}`],
  ["a deep nest", `${"(".repeat(500)}1${")".repeat(500)}`],
  ["a deep nest of roots", `${"\\sqrt{".repeat(300)}2${"}".repeat(300)}`],
  ["100 kB of an expression", "1+".repeat(50_000).concat("1")],
  ["a long sum within the bound", "1+x*".repeat(450).concat("1")],
  ["a program", "\\operatorname{Assign}(x, 1)"],
  ["an assignment", "x := 1"],
  ["a long number", "9".repeat(1_900)],
])("%s neither hangs nor passes, and the next question is answered", async (_name, answer) => {
  expect(await equal(answer, "1")).toBe(false);
  expect(await equal("x+x", "2x")).toBe(true);
});

test("a question leaves nothing to the next: the order changes no answer", async () => {
  const questions: [string, string, boolean][] = [
    ["f(x)", "fx", true],
    ["fx", "xf", true],
    ["|n|", "n", false],
    ["n!", "n", false],
    ["\\sqrt{n^2}", "n", false],
    ["2n", "n+n", true],
  ];
  for (const order of [questions, questions.toReversed()])
    for (const [answer, expected, isEqual] of order)
      expect([answer, await equal(answer, expected)]).toEqual([answer, isEqual]);
});

test("fractions are equal exactly when their cross products are", async () => {
  const whole = fc.integer({ min: -40, max: 40 });
  const part = fc.integer({ min: 1, max: 12 });
  await fc.assert(
    fc.asyncProperty(whole, part, whole, part, async (a, b, c, d) => {
      expect(await equal(`\\frac{${a}}{${b}}`, `${c}/${d}`)).toBe(a * d === b * c);
      expect(await equal(`(${a})/${b} + ${c}/${d}`, `(${a * d + c * b})/(${b * d})`)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test("no text makes the reader of answers throw", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      const read = readable(text);
      expect(read === null || read.length <= 60).toBe(true);
    }),
  );
});
