import fc from "fast-check";
import { expect, test } from "vitest";
import type { Comparison, PlainData } from "../core/task.ts";
import { isRight } from "./compare.ts";
import { canonicalPlain } from "./plain.ts";

const noMath = async (): Promise<boolean> => {
  throw new Error("no comparison of this test is mathematical");
};

function right(given: PlainData, expected: PlainData, compare?: Comparison): Promise<boolean> {
  return isRight(canonicalPlain(given), expected, compare, noMath);
}

const near: Comparison = { kind: "numeric", absolute: 0.01, relative: 0 };
const float = (value: number | string): PlainData => ({ $float: String(value) });

test.each<[string, PlainData, PlainData, boolean]>([
  ["a number within the tolerance", 1.005, 1.0, true],
  ["a number beyond it", 1.02, 1, false],
  ["a whole float for an int", float(3), 3, true],
  ["an int for a whole float", 3, float(3), true],
  ["True for 1", true, 1, false],
  ["1 for True", 1, true, false],
  ["a text for a number", "1", 1, false],
  ["None for 0", null, 0, false],
  ["numbers within a list", [1.001, "a", [2.001]], [1, "a", [2]], true],
  ["another text beside a number", [1, "b"], [1, "a"], false],
  ["a tuple for a list", { $tuple: [1] }, [1], false],
  ["a shorter list", [1], [1, 2], false],
  ["numbers within a dict", { a: 1.001 }, { a: 1 }, true],
  ["another key", { b: 1 }, { a: 1 }, false],
  ["a set whose members are near", { $set: [1.001, 2.001] }, { $set: [1, 2] }, true],
  ["a set whose one member has no partner", { $set: [1.001, 1.002] }, { $set: [1, 2] }, false],
  ["NaN for a number", float("nan"), 1, false],
  ["a number for NaN", 1, float("nan"), false],
  ["NaN for NaN", float("nan"), float("nan"), true],
  ["infinity for a large number", float("inf"), float(1e308), false],
  ["infinity for infinity", float("inf"), float("inf"), true],
  ["minus infinity for infinity", float("-inf"), float("inf"), false],
  ["a huge int that is off by one", { $int: `1${"0".repeat(30)}` }, { $int: `1${"0".repeat(29)}1` }, false],
])("numeric: %s", async (_name, given, expected, isEqual) => {
  expect(await right(given, expected, near)).toBe(isEqual);
});

test("numeric: the larger of the two tolerances counts", async () => {
  const compare: Comparison = { kind: "numeric", absolute: 0.5, relative: 0.1 };
  expect(await right(109, 100, compare)).toBe(true);
  expect(await right(111, 100, compare)).toBe(false);
  expect(await right(1.4, 1, compare)).toBe(true);
  expect(await right(-109, -100, compare)).toBe(true);
});

test("numeric: an infinite tolerance does not let infinity or NaN through", async () => {
  const all: Comparison = { kind: "numeric", absolute: Number.MAX_VALUE, relative: 10 };
  for (const word of ["inf", "-inf", "nan"]) expect(await right(float(word), 1, all)).toBe(false);
});

test("numeric: a finite float is near itself and far from one that is a tolerance and more away", async () => {
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 });
  await fc.assert(
    fc.asyncProperty(finite, fc.double({ min: 0.02, max: 1e6, noNaN: true }), async (value, step) => {
      expect(await right(float(value), float(value), near)).toBe(true);
      expect(await right(float(value + step), float(value), near)).toBe(false);
      expect(await right(float(value + 0.005), float(value), near)).toBe(true);
    }),
  );
});

test("unordered: a list is equal to each of its shuffles and to no other multiset", async () => {
  const lists = fc.array(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.string({ maxLength: 1 }), fc.boolean()));
  const unordered: Comparison = { kind: "unordered" };
  await fc.assert(
    fc.asyncProperty(lists, fc.infiniteStream(fc.nat()), async (list, keys) => {
      const shuffled = list
        .map((item) => ({ item, key: keys.next().value }))
        .sort((a, b) => Number(a.key) - Number(b.key));
      const items = shuffled.map(({ item }) => item);
      expect(await right(items, list, unordered)).toBe(true);
      expect(await right([...items, 7], list, unordered)).toBe(false);
      expect(await right({ $tuple: items }, list, unordered)).toBe(false);
      if (items.length > 0) expect(await right([...items.slice(1), 7], list, unordered)).toBe(false);
    }),
  );
});

test("exact is the default, and 1, 1.0 and True are three values", async () => {
  const values: PlainData[] = [1, float(1), true];
  for (const [i, one] of values.entries())
    for (const [j, other] of values.entries()) expect(await right(one, other)).toBe(i === j);
});

test("text that no driver writes is equal to nothing, whatever the comparison", async () => {
  const comparisons: Comparison[] = [{ kind: "exact" }, near, { kind: "unordered" }, { kind: "math" }];
  const texts = ['["int","nan"]', '["int",1]', '["float","1"]', "[", '["object","int"]', "{}", '["list"', "1", ""];
  for (const compare of comparisons)
    for (const text of [...texts, "[".repeat(100_000)]) expect(await isRight(text, 1, compare, noMath)).toBe(false);
});

test("an answer nested deeper than the stack is long is wrong, and no fault of the comparison", async () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const unordered: Comparison = { kind: "unordered" };
  expect(await isRight(`["list",${deep}]`, [1], unordered, noMath)).toBe(false);
  expect(await isRight(`["dict",[${deep},["int","1"]]]`, { a: 1 }, near, noMath)).toBe(false);
  const wide = Object.fromEntries(Array.from({ length: 3 }, (_, key) => [String(key), [key]]));
  const nested = Array.from({ length: 45 }).reduce<PlainData>((inner) => ({ inner }), wide);
  expect(await right([nested, 1], [1, nested], unordered)).toBe(true);
});

test("numeric: a relative tolerance holds for integers that no float can carry", async () => {
  const relative: Comparison = { kind: "numeric", absolute: 0, relative: 1e-3 };
  const huge = (head: string): PlainData => ({ $int: `${head}${"0".repeat(400)}` });
  expect(await right(5, huge("1000"), relative)).toBe(false);
  expect(await right(huge("1002"), huge("1000"), relative)).toBe(false);
  expect(await right(huge("-1000"), huge("1000"), relative)).toBe(false);
  expect(await right(huge("1001"), huge("1001"), relative)).toBe(true);
  expect(await right(huge("10005"), huge("10000"), relative)).toBe(true);
});

test("math: texts go to the mathematics, and an expected number as its digits", async () => {
  const asked: string[][] = [];
  const remember = async (...pair: string[]): Promise<boolean> => asked.push(pair) > 0;
  const math: Comparison = { kind: "math" };
  expect(await isRight(canonicalPlain("1/2"), "0.5", math, remember)).toBe(true);
  expect(await isRight(canonicalPlain("√4"), 2, math, remember)).toBe(true);
  expect(await isRight(canonicalPlain(2), "x", math, remember)).toBe(false);
  expect(asked).toEqual([
    ["1/2", "0.5"],
    ["√4", "2"],
  ]);
});
