import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalPlain, parseHexFloat, plainOfCanonical, pythonLiteral } from "./plain.ts";

/** Values that Python tells apart by type or value; each pair must differ. */
const distinct = [
  null,
  true,
  false,
  1,
  0,
  { $float: "1" },
  { $float: "0" },
  1.5,
  { $float: "nan" },
  { $float: "inf" },
  { $float: "-inf" },
  "1",
  "",
  "None",
  'a"b',
  "a\\b",
  "ä",
  "\ud83d\ude00",
  { $bytes: "31" },
  [],
  [1],
  [[1]],
  [true],
  { $tuple: [] },
  { $tuple: [1] },
  { $set: [] },
  { $set: [1] },
  { $frozenset: [1] },
  {},
  { a: 1 },
  { $dict: [[1, 1]] },
  { $dict: [["1", 1]] },
  { $int: "9007199254740993" },
  { $int: "-170141183460469231731687303715884105728" },
];

test("values of another type or value never count as equal", () => {
  const texts = distinct.map(canonicalPlain);
  expect(new Set(texts).size).toBe(distinct.length);
  expect(new Set(distinct.map(pythonLiteral)).size).toBe(distinct.length);
});

test("what Python counts as the same plain value counts as equal", () => {
  const same: readonly (readonly [unknown, unknown])[] = [
    [12, { $int: "12" }],
    [12n, 12],
    [0.5, { $float: "0.5" }],
    [{ $float: "-0" }, { $float: "0" }],
    [{ $set: [1, 2] }, { $set: [2, 1, 2] }],
    [
      { a: 1, b: 2 },
      {
        $dict: [
          ["b", 2],
          ["a", 1],
        ],
      },
    ],
  ];
  for (const [a, b] of same) expect(canonicalPlain(a)).toBe(canonicalPlain(b));
});

test("a literal is one line of printable ASCII, whatever the text holds", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(pythonLiteral(text)).toMatch(/^[ -~]*$/);
      expect(canonicalPlain(text)).toMatch(/^[ -~]*$/);
    }),
  );
});

test.each([
  ["an unknown tag", { $complex: "1j" }, /unknown tag \$complex/],
  ["a tag beside other keys", { $set: [], other: 1 }, /beside other keys/],
  ["a float that is no number", { $float: "many" }, /no number/],
  ["an int that is none", { $int: "1.5" }, /does not fit/],
  ["something that is no data", () => 1, /holds a function/],
  ["endless nesting", Array.from({ length: 60 }).reduce((inner: unknown) => [inner], 1), /deeper than 50/],
])("%s in a hidden case is an invalid task", (_name, value, message) => {
  expect(() => canonicalPlain(value)).toThrow(message);
});

test("a canonical text is read back as the value it spells, and hostile text as nothing", () => {
  for (const value of distinct) {
    const text = canonicalPlain(value);
    const read = plainOfCanonical(text);
    expect(read).not.toBeUndefined();
    expect(canonicalPlain(read)).toBe(text);
  }
  const hostile = [
    '["int","1e9"]',
    '["int","__import__"]',
    '["float","1.5"]',
    '["bytes","\\"+x"]',
    '["object","int"]',
    "[",
    "{}",
    "1",
  ];
  for (const text of [...hostile, '["list","a",["int",1]]', "[".repeat(9_999)])
    expect(plainOfCanonical(text)).toBeUndefined();
});

test("every double survives its spelling in hex", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (value) => {
      const text = canonicalPlain({ $float: value });
      expect(Object.is(parseHexFloat(JSON.parse(text)[1]), value === 0 ? 0 : value)).toBe(true);
    }),
  );
});
