/**
 * Plain data in three spellings: what a task writes (`PlainData`), one canonical text of it, and a Python literal.
 *
 * Two values are equal exactly when their canonical texts are: type and value both count, so 1, 1.0 and True differ, and
 * so do a list and a tuple. Answers arrive as canonical text written by `python/subject_driver.py` and are compared as
 * text, so nothing a hostile answer returns is ever interpreted here.
 */
import { Failure } from "../core/errors.ts";
import type { PlainData } from "../core/task.ts";

/** Most levels of nesting, here and in the Python driver. */
const DEPTH_MAX = 50;
const BIG = 2n ** 63n;

/** A value with its exact Python type. */
type Typed =
  | { readonly type: "none" }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "int"; readonly value: bigint }
  | { readonly type: "float"; readonly value: number }
  | { readonly type: "str"; readonly value: string }
  | { readonly type: "bytes"; readonly hex: string }
  | { readonly type: "list" | "tuple" | "set" | "frozenset"; readonly items: readonly Typed[] }
  | { readonly type: "dict"; readonly entries: readonly (readonly [Typed, Typed])[] };

/**
 * The one text of a value. A whole number is an int and any other finite number a float; `$float`, `$int`, `$tuple`,
 * `$set`, `$frozenset`, `$bytes` (hex) and `$dict` (pairs) say the rest. Throws `task_invalid` for anything else.
 */
export function canonicalPlain(value: PlainData): string {
  return canonical(typed(value, 0));
}

/** The value as a Python literal in ASCII, on one line; `inf` and `nan` are names the driver defines. */
export function pythonLiteral(value: PlainData): string {
  return literal(typed(value, 0));
}

/**
 * The value a canonical text spells, as a task would write it; undefined for any other text. The text may be hostile:
 * it is read as data, and what comes out is spelled anew before a program sees it.
 */
export function plainOfCanonical(text: string): PlainData | undefined {
  try {
    const value = untyped(JSON.parse(text), 0);
    return canonicalPlain(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function untyped(value: unknown, depth: number): PlainData {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (!Array.isArray(value) || depth > DEPTH_MAX) throw invalid("is no canonical text");
  const [type, ...items] = value;
  const [first] = items;
  const members = (): PlainData[] => items.map((item) => untyped(item, depth + 1));
  if (type === "list") return members();
  if (type === "tuple" || type === "set" || type === "frozenset") return { [`$${type}`]: members() };
  if (type === "dict") {
    return { $dict: items.map((pair) => [untyped(pair[0], depth + 1), untyped(pair[1], depth + 1)]) };
  }
  if (items.length !== 1 || typeof first !== "string") throw invalid("is no canonical text");
  if (type === "int") return { $int: (first.startsWith("-") ? -BigInt(first.slice(1)) : BigInt(first)).toString() };
  if (type === "float") return { $float: parseHexFloat(first) };
  if (type === "bytes") return { $bytes: first };
  if (type === "text") return Buffer.from(first, "hex").toString("utf16le");
  throw invalid("is no canonical text");
}

/** Reads Python's `float.hex`. Throws for any other text. */
export function parseHexFloat(text: string): number {
  if (text === "nan") return Number.NaN;
  if (text === "inf" || text === "-inf") return text === "inf" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const found = /^(-?)0x([01])\.([0-9a-f]{1,13})p([+-]\d{1,4})$/.exec(text);
  if (found === null) throw invalid("is no float");
  const [, sign, whole, fraction = "", exponent] = found;
  const mantissa = Number(whole) + Number.parseInt(fraction, 16) / 16 ** fraction.length;
  // In two steps: a subnormal's power alone is not a double.
  const half = Math.trunc(Number(exponent) / 2);
  const value = mantissa * 2 ** half * 2 ** (Number(exponent) - half);
  return sign === "-" ? -value : value;
}

function typed(value: unknown, depth: number): Typed {
  if (depth > DEPTH_MAX) throw invalid(`nests deeper than ${DEPTH_MAX} levels`);
  if (value === null) return { type: "none" };
  if (typeof value === "boolean") return { type: "bool", value };
  if (typeof value === "bigint") return { type: "int", value };
  if (typeof value === "number") {
    return Number.isInteger(value) ? { type: "int", value: BigInt(value) } : { type: "float", value };
  }
  if (typeof value === "string") return { type: "str", value };
  if (Array.isArray(value)) return { type: "list", items: value.map((item) => typed(item, depth + 1)) };
  if (typeof value !== "object") throw invalid(`holds a ${typeof value}`);
  const entries = Object.entries(value);
  const first = entries[0];
  if (first?.[0].startsWith("$")) {
    if (entries.length > 1) throw invalid(`has the tag ${first[0]} beside other keys`);
    return tagged(first[0], first[1], depth);
  }
  return {
    type: "dict",
    entries: entries.map(([key, member]) => [{ type: "str", value: key }, typed(member, depth + 1)]),
  };
}

function tagged(tag: string, value: unknown, depth: number): Typed {
  switch (tag) {
    case "$float":
      return { type: "float", value: floatOf(value) };
    case "$int":
      if (typeof value === "string" && /^-?\d+$/.test(value)) return { type: "int", value: BigInt(value) };
      break;
    case "$bytes":
      if (typeof value === "string" && /^([0-9a-f]{2})*$/.test(value)) return { type: "bytes", hex: value };
      break;
    case "$tuple":
    case "$set":
    case "$frozenset":
      if (!Array.isArray(value)) break;
      return {
        type: tag.slice(1) as "tuple" | "set" | "frozenset",
        items: value.map((item) => typed(item, depth + 1)),
      };
    case "$dict":
      if (!Array.isArray(value)) break;
      return { type: "dict", entries: value.map((pair) => pairOf(pair, depth + 1)) };
    default:
      throw invalid(`has the unknown tag ${tag}`);
  }
  throw invalid(`has a ${tag} that does not fit: ${JSON.stringify(value)}`);
}

function floatOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (value === "inf") return Number.POSITIVE_INFINITY;
  if (value === "-inf") return Number.NEGATIVE_INFINITY;
  if (value === "nan") return Number.NaN;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) throw invalid(`has a $float that is no number: ${JSON.stringify(value)}`);
  return number;
}

function pairOf(pair: unknown, depth: number): readonly [Typed, Typed] {
  if (!Array.isArray(pair) || pair.length !== 2) throw invalid("has a $dict whose entries are not pairs");
  return [typed(pair[0], depth), typed(pair[1], depth)];
}

function canonical(value: Typed): string {
  switch (value.type) {
    case "none":
      return "null";
    case "bool":
      return value.value ? "true" : "false";
    case "int":
      return value.value >= -BIG && value.value < BIG ? `["int","${value.value}"]` : `["int","${hexInt(value.value)}"]`;
    case "float":
      return `["float","${hexFloat(value.value)}"]`;
    case "str":
      return canonicalText(value.value);
    case "bytes":
      return `["bytes","${value.hex}"]`;
    case "list":
    case "tuple":
      return `[${[`"${value.type}"`, ...value.items.map(canonical)].join()}]`;
    case "set":
    case "frozenset":
      return `[${[`"${value.type}"`, ...new Set(value.items.map(canonical).sort())].join()}]`;
    case "dict": {
      const pairs = value.entries.map(([key, member]) => `[${canonical(key)},${canonical(member)}]`);
      return `[${['"dict"', ...pairs.sort()].join()}]`;
    }
  }
}

/** Printable ASCII without quote and backslash stands as it is; any other text is the hex of its UTF-16 code units. */
function canonicalText(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : `["text","${Buffer.from(text, "utf16le").toString("hex")}"]`;
}

function hexInt(value: bigint): string {
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`;
}

/** The text of Python's `float.hex`; minus zero counts as zero. */
function hexFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return "0x0.0p+0";
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Math.abs(value));
  const word = bits.getBigUint64(0);
  const mantissa = (word & 0xf_ffff_ffff_ffffn).toString(16).padStart(13, "0");
  const biased = Number(word >> 52n);
  const exponent = biased === 0 ? -1022 : biased - 1023;
  return `${value < 0 ? "-" : ""}0x${biased === 0 ? 0 : 1}.${mantissa}p${exponent < 0 ? "" : "+"}${exponent}`;
}

function literal(value: Typed): string {
  switch (value.type) {
    case "none":
      return "None";
    case "bool":
      return value.value ? "True" : "False";
    case "int":
      return value.value >= -BIG && value.value < BIG ? value.value.toString() : hexInt(value.value);
    case "float":
      return literalFloat(value.value);
    case "str":
      return literalText(value.value);
    case "bytes":
      return `b"${value.hex.replace(/../g, "\\x$&")}"`;
    case "list":
      return `[${value.items.map(literal).join()}]`;
    case "tuple":
      return `(${value.items.map((item) => `${literal(item)},`).join("")})`;
    case "set":
      return `set([${value.items.map(literal).join()}])`;
    case "frozenset":
      return `frozenset([${value.items.map(literal).join()}])`;
    case "dict":
      return `{${value.entries.map(([key, member]) => `${literal(key)}:${literal(member)}`).join()}}`;
  }
}

function literalFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const text = Object.is(value, -0) ? "-0.0" : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function literalText(text: string): string {
  let escaped = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x20 && code < 0x7f && character !== '"' && character !== "\\") escaped += character;
    else escaped += `\\U${code.toString(16).padStart(8, "0")}`;
  }
  return `"${escaped}"`;
}

function invalid(what: string): Failure {
  return new Failure("task_invalid", `A value of a hidden case ${what}; write it as plain data with the known tags.`);
}
