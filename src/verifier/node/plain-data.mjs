/**
 * Plain data of JavaScript as text, and back. Scalars stand as in JSON; all else is a list whose first element is its
 * exact kind: ["number","1.5"], ["array",…], ["object",[key,value],…], ["map",…], ["set",…], ["bytes","hex"], ["date",
 * "ms"], ["bigint","12"], ["undefined"]. What is not plain (a getter, a proxy, a class of one's own, a function) is
 * ["other","name"].
 *
 * Used on both sides, each in a process of its own: the graded program can spoil only the text of its own answer.
 */
import { types } from "node:util";

const DEPTH_MAX = 50;
const NODES_MAX = 100_000;
const { getPrototypeOf, getOwnPropertyDescriptor } = Object;
const { ownKeys } = Reflect;

/** The value is nested too deeply, or too large, to be told. */
export class TooMuch extends Error {}

/** The one text of a value, in ASCII. Throws `TooMuch`. */
export function encode(value) {
  return encoded(value, 0, { left: NODES_MAX });
}

function encoded(value, depth, budget) {
  budget.left -= 1 + (typeof value === "string" ? value.length >> 6 : 0);
  if (depth > DEPTH_MAX || budget.left < 0) throw new TooMuch("the value is nested too deeply, or too large");
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return value ? "true" : "false";
    case "string":
      return quoted(value);
    case "number":
      return `["number","${Object.is(value, -0) ? "-0" : value}"]`;
    case "bigint":
      return `["bigint","${value}"]`;
    case "undefined":
      return '["undefined"]';
    case "object":
      return encodedObject(value, (member) => encoded(member, depth + 1, budget));
    default:
      return `["other","${typeof value}"]`;
  }
}

/** Read without running anything of the object: no getter, no toJSON, no iterator, no trap of a proxy. */
function encodedObject(value, inner) {
  if (types.isProxy(value)) return '["other","a proxy"]';
  const prototype = getPrototypeOf(value);
  const members = ownKeys(value);
  if (Array.isArray(value) && prototype === Array.prototype) {
    const items = Array.from({ length: value.length }, (_, index) => own(value, String(index)));
    if (members.length !== items.length + 1 || items.includes(null)) return '["other","an array that is not plain"]';
    return `[${['"array"', ...items.map((item) => inner(item.value))].join()}]`;
  }
  if (prototype === Map.prototype && types.isMap(value) && members.length === 0) {
    return `[${['"map"', ...[...Map.prototype.entries.call(value)].map(([key, member]) => `[${inner(key)},${inner(member)}]`)].join()}]`;
  }
  if (prototype === Set.prototype && types.isSet(value) && members.length === 0) {
    return `[${['"set"', ...[...Set.prototype.values.call(value)].map(inner)].join()}]`;
  }
  if (prototype === Date.prototype && types.isDate(value) && members.length === 0) {
    return `["date","${Date.prototype.getTime.call(value)}"]`;
  }
  if (types.isUint8Array(value) && (prototype === Uint8Array.prototype || prototype === Buffer.prototype)) {
    return `["bytes","${Buffer.prototype.hexSlice.call(value)}"]`;
  }
  if (prototype !== Object.prototype && prototype !== null) return '["other","an object of a class"]';
  const pairs = members.map((key) => (typeof key === "string" ? [key, own(value, key)] : [key, null]));
  if (pairs.some(([, member]) => member === null)) return '["other","an object that is not plain"]';
  return `[${['"object"', ...pairs.map(([key, member]) => `[${quoted(key)},${inner(member.value)}]`)].join()}]`;
}

/** The descriptor of a visible property that simply holds a value; null otherwise. */
function own(object, key) {
  const found = getOwnPropertyDescriptor(object, key);
  return found !== undefined && "value" in found && found.enumerable ? found : null;
}

function quoted(text) {
  return JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The value of a text; real objects of this process. Throws for anything `encode` cannot have written, and for "other". */
export function decode(text, { nonFinite = false } = {}) {
  return decoded(JSON.parse(text), nonFinite);
}

function decoded(node, nonFinite) {
  if (node === null || typeof node === "boolean" || typeof node === "string") return node;
  if (!Array.isArray(node)) throw new TypeError("it is malformed");
  const inner = (member) => decoded(member, nonFinite);
  const [kind, ...rest] = node;
  switch (kind) {
    case "undefined":
      return undefined;
    case "array":
      return rest.map(inner);
    case "set":
      return new Set(rest.map(inner));
    case "map":
      return new Map(rest.map(([key, member]) => [inner(key), inner(member)]));
    case "object":
      return Object.fromEntries(rest.map(([key, member]) => [String(key), inner(member)]));
    case "bytes":
      return Uint8Array.from(Buffer.from(String(rest[0]), "hex"));
    case "date":
      return new Date(finite(Number(rest[0]), nonFinite));
    case "bigint":
      return BigInt(String(rest[0]));
    case "number":
      return finite(Number(rest[0]), nonFinite);
    default:
      throw new TypeError(`it is ${String(rest[0])}, which is not plain data`);
  }
}

function finite(number, nonFinite) {
  if (nonFinite || Number.isFinite(number)) return number;
  throw new RangeError(`it holds ${number}; a test that expects it says nonFinite: true`);
}
