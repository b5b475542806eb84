/**
 * Rows of an answer against the rows expected, on the platform: by exact type and value, as a multiset unless the test
 * asks for an order. A cell is the text the driver sent: one letter for its type, then the value; null is NULL.
 */
import { Failure } from "../core/errors.ts";
import { clipped } from "./clipped.ts";

/** `i` integer, `f` float, `n` decimal, `t` text, `b` hex bytes, `o` boolean; null is NULL. Untrusted text. */
export type SqlCell = string | null;

/** One column of an answer. */
export interface SqlColumn {
  readonly name: string;
  /** Of the engine; empty where it has none of its own, as in SQLite. */
  readonly type: string;
}

/** An answer, row by row. */
export interface SqlTable {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly (readonly SqlCell[])[];
}

/** How two answers are held against each other. */
export interface RowRules {
  readonly isOrdered: boolean;
  /** Two floats may differ by this share of the larger; 0 is exact. */
  readonly tolerance: number;
}

/** Rows that may be left to be matched by tolerance; each is held against each. */
const LOOSE_ROWS_MAX = 2_000;
const DETAIL_CHARACTERS_MAX = 160;

/** A value of a test file as a cell. Throws `task_invalid` for what no database holds. */
export function cellOf(value: unknown): SqlCell {
  if (value === null) return null;
  if (typeof value === "boolean") return value ? "otrue" : "ofalse";
  if (typeof value === "number" && Number.isSafeInteger(value)) return `i${value}`;
  // A whole number that JSON cannot carry exactly falls through, to be written as text.
  if (typeof value === "number" && !Number.isInteger(value)) return `f${value}`;
  if (typeof value === "string") return `t${value}`;
  const [tag, ...others] = typeof value === "object" ? Object.entries(value) : [];
  if (tag !== undefined && others.length === 0 && typeof tag[1] === "string") {
    const letter = { $int: "i", $float: "f", $decimal: "n", $bytes: "b" }[tag[0]];
    if (letter !== undefined) return `${letter}${tag[1]}`;
  }
  const remedy = 'write text, a number, true, false, null, or {"$int"|"$float"|"$decimal"|"$bytes": "…"}';
  throw new Failure("task_invalid", `An expected SQL value is ${JSON.stringify(value)}; ${remedy}.`);
}

/** Null when the answer is right, else one sentence for people. */
export function rowsDifference(found: SqlTable, wanted: SqlTable["rows"], rules: RowRules): string | null {
  if (found.rows.length !== wanted.length) return `it gives ${found.rows.length} rows, not ${wanted.length}`;
  const got = found.rows.map((row) => row.map(normal));
  const want = wanted.map((row) => row.map(normal));
  if (rules.isOrdered) {
    const index = want.findIndex((row, at) => !isSameRow(got[at] ?? [], row, rules.tolerance));
    return index < 0 ? null : `row ${index + 1} is ${shown(got[index] ?? [])}, not ${shown(want[index] ?? [])}`;
  }
  const counts = new Map<string, number>();
  for (const row of want) counts.set(key(row), (counts.get(key(row)) ?? 0) + 1);
  const extra = got.filter((row) => !takeOne(counts, key(row)));
  const absent = want.filter((row) => takeOne(counts, key(row)));
  const [first] = extra;
  if (first === undefined) return null;
  if (rules.tolerance > 0 && extra.length <= LOOSE_ROWS_MAX && areMatched(extra, absent, rules.tolerance)) return null;
  return `the row ${shown(first)} is not expected, ${shown(absent[0] ?? [])} is`;
}

/** Null when the columns have the names, and where given the types, that are wanted. */
export function columnsDifference(
  found: SqlTable,
  wanted: readonly { readonly name: string; readonly type?: string | undefined }[],
): string | null {
  const names = found.columns.map((column) => column.name);
  if (names.length !== wanted.length || wanted.some((column, index) => column.name !== names[index])) {
    return `its columns are ${clip(JSON.stringify(names))}, not ${JSON.stringify(wanted.map(({ name }) => name))}`;
  }
  for (const [index, column] of wanted.entries()) {
    if (column.type === undefined) continue;
    const type = found.columns[index]?.type ?? "";
    if (type !== "" && type !== column.type) return `the column ${column.name} is ${clip(type)}, not ${column.type}`;
    const letter = { integer: "i", real: "f", text: "t", blob: "b" }[column.type];
    const odd = type === "" && letter !== undefined && found.rows.find((row) => (row[index] ?? letter)[0] !== letter);
    if (odd) return `the column ${column.name} holds ${shown([odd[index] ?? null])}, which is not ${column.type}`;
  }
  return null;
}

/** A decimal without leading and trailing zeros, and one spelling for each float. */
function normal(cell: SqlCell): SqlCell {
  if (cell === null) return null;
  const text = cell.slice(1);
  if (cell[0] === "f") {
    const value = { nan: Number.NaN, inf: Infinity, "-inf": -Infinity }[text.toLowerCase()] ?? Number(text);
    return `f${value === 0 ? 0 : value}`;
  }
  if (cell[0] !== "n" || !/^-?\d+(?:\.\d+)?$/.test(text)) return cell;
  const short = text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  // A whole decimal is written like every whole number; which type it has is the column's to say.
  return short.includes(".") ? `n${short}` : short === "-0" ? "i0" : `i${short}`;
}

function isSameRow(a: readonly SqlCell[], b: readonly SqlCell[], tolerance: number): boolean {
  return a.length === b.length && a.every((cell, index) => isSameCell(cell, b[index] ?? null, tolerance));
}

function isSameCell(a: SqlCell, b: SqlCell, tolerance: number): boolean {
  if (a === b) return true;
  // A decimal with a fraction is written as a float in a test file.
  const areNumbers = a !== null && b !== null && "fn".includes(a.charAt(0)) && "fn".includes(b.charAt(0));
  if (!areNumbers || tolerance === 0) return false;
  const [x, y] = [Number(a.slice(1)), Number(b.slice(1))];
  return Number.isFinite(x) && Number.isFinite(y) && Math.abs(x - y) <= tolerance * Math.max(Math.abs(x), Math.abs(y));
}

function areMatched(got: readonly SqlCell[][], want: readonly SqlCell[][], tolerance: number): boolean {
  const left = [...want];
  return got.every((row) => {
    const index = left.findIndex((one) => isSameRow(row, one, tolerance));
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  });
}

function takeOne(counts: Map<string, number>, key: string): boolean {
  const left = counts.get(key) ?? 0;
  if (left > 0) counts.set(key, left - 1);
  return left > 0;
}

function key(row: readonly SqlCell[]): string {
  return JSON.stringify(row);
}

function shown(row: readonly SqlCell[]): string {
  return clip(`(${row.map(shownCell).join(", ")})`);
}

/** A float shows that it is one: 2 and 2.0 are different answers. */
function shownCell(cell: SqlCell): string {
  if (cell === null) return "NULL";
  const text = cell.slice(1);
  if (cell[0] === "t") return JSON.stringify(text);
  return cell[0] === "f" && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function clip(text: string): string {
  return clipped(text, DETAIL_CHARACTERS_MAX);
}
