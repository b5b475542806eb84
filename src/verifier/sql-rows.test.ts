import fc from "fast-check";
import { expect, test } from "vitest";
import { cellOf, columnsDifference, rowsDifference, type SqlCell, type SqlTable } from "./sql-rows.ts";

const table = (rows: readonly (readonly SqlCell[])[]): SqlTable => ({ columns: [], rows });
const differs = (found: readonly (readonly SqlCell[])[], wanted: readonly (readonly SqlCell[])[], change = {}) =>
  rowsDifference(table(found), wanted, { isOrdered: false, tolerance: 1e-9, ...change });

const cell = fc.oneof(
  fc.constant(null),
  fc.integer().map((value) => `i${value}`),
  fc.double({ noNaN: true }).map((value) => `f${value}`),
  fc.string().map((value) => `t${value}`),
);
const rows = fc
  .integer({ min: 1, max: 3 })
  .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 8 }));

test("any order of the same rows is right, and no row may be left out, doubled or swapped for another", () => {
  fc.assert(
    fc.property(rows, fc.infiniteStream(fc.nat()), (wanted, order) => {
      const shuffled = wanted.map((row) => ({ row, key: order.next().value })).sort((a, b) => a.key - b.key);
      expect(
        differs(
          shuffled.map(({ row }) => row),
          wanted,
        ),
      ).toBeNull();
      const [first] = wanted;
      if (first === undefined) return;
      expect(differs(wanted.slice(1), wanted)).not.toBeNull();
      expect(differs([...wanted, first], wanted)).not.toBeNull();
      expect(differs([first.map(() => "tnot there, surely"), ...wanted.slice(1)], wanted)).not.toBeNull();
    }),
  );
});

test("pattern 50: a row given twice does not stand in for another one", () => {
  expect(differs([["i1"], ["i1"]], [["i1"], ["i2"]])).toBe("the row (1) is not expected, (2) is");
});

test("2 and 2.0, text and number, and empty text and NULL are different answers, and the detail shows which", () => {
  expect(differs([["f2.0"]], [["i2"]])).toBe("the row (2.0) is not expected, (2) is");
  expect(differs([["t2"]], [["i2"]])).toBe('the row ("2") is not expected, (2) is');
  expect(differs([["t"]], [[null]])).toBe('the row ("") is not expected, (NULL) is');
});

test("decimals are compared by value, floats within the tolerance, and what is not finite only where it is declared", () => {
  expect(differs([["n10.50"], ["n2.000"]], [["i2"], ["f10.5"]])).toBeNull();
  expect(differs([["f0.30000000000000004"]], [["f0.3"]])).toBeNull();
  expect(differs([["f0.30000000000000004"]], [["f0.3"]], { tolerance: 0 })).not.toBeNull();
  expect(differs([["fnan"]], [["f1"]])).not.toBeNull();
  expect(differs([["finf"]], [["f1.5"]])).not.toBeNull();
  expect(differs([["fnan"]], [[cellOf({ $float: "nan" })]])).toBeNull();
});

test("hostile text in an answer reaches a person as printable characters, and not much of it", () => {
  const said = differs([[`t\u001b[31m${"x".repeat(9_000)}`]], [["ta"]]) ?? "";
  expect(said).toMatch(/^[ -~…]+$/);
  expect(said.length).toBeLessThan(400);
});

test("columns are named in their order, and a declared type holds for each value", () => {
  const found = { columns: [{ name: "a", type: "" }], rows: [["i1"], [null], ["tx"]] };
  expect(columnsDifference(found, [{ name: "a" }])).toBeNull();
  expect(columnsDifference(found, [{ name: "A" }])).toBe('its columns are ["a"], not ["A"]');
  expect(columnsDifference(found, [{ name: "a", type: "integer" }])).toBe(
    'the column a holds ("x"), which is not integer',
  );
});

test("a whole number that JSON cannot carry exactly has to be written as text", () => {
  expect(() => cellOf(2 ** 53)).toThrow("$int");
  expect(cellOf({ $int: "9007199254740993" })).toBe("i9007199254740993");
});
