/**
 * Holds what a service answered against what a probe expects. Everything of the answer is the agent's; depth and size of
 * the work follow from what is expected, which is the task's. Pure; each function gives null or one sentence for people.
 */
import { pointed } from "../core/json-pointer.ts";
import type { HttpExpected, HttpSchema, SchemaType } from "./http-spec.ts";

/** What came back, as bytes and texts. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

const SHOWN_CHARACTERS_MAX = 120;

/** Null when the answer is as expected, else the first difference. */
export function answerDifference(answer: HttpAnswer, expected: HttpExpected): string | null {
  const statuses = [expected.status].flat();
  if (!statuses.includes(answer.status)) {
    return `status ${answer.status}, not ${statuses.join(" or ")}: ${shown(Buffer.from(answer.body).toString("utf8"))}`;
  }
  for (const [name, wanted] of Object.entries(expected.headers)) {
    const found = answer.headers.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
    const isMet =
      typeof wanted === "string" ? found.includes(wanted) : found.some((text) => text.includes(wanted.contains));
    if (!isMet) return `the header ${name} is ${found.length === 0 ? "absent" : shown(found.join(", "))}`;
  }
  return bodyDifference(answer.body, expected);
}

function bodyDifference(body: Uint8Array, expected: HttpExpected): string | null {
  if (expected.body === undefined && expected.json.length === 0) return null;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return "the body is no UTF-8";
  }
  if (expected.body !== undefined && text !== expected.body) return `the body is ${shown(text)}`;
  if (expected.json.length === 0) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `the body is no JSON: ${shown(text)}`;
  }
  for (const rule of expected.json) {
    const found = pointed(value, rule.pointer);
    const where = rule.pointer === "" ? "the body" : rule.pointer;
    if ("absent" in rule) {
      if (found !== undefined) return `${where} is there`;
    } else if (found === undefined) return `${where} is absent`;
    else if ("schema" in rule) {
      const difference = schemaDifference(found, rule.schema, where);
      if (difference !== null) return difference;
    } else if (!isEqualJson(found, rule.equals, rule.tolerance ?? 0)) {
      return `${where} is ${shownValue(found)}`;
    }
  }
  return null;
}

/** Equal type and value; numbers may differ by `tolerance`, and only finite ones are equal to any. */
export function isEqualJson(found: unknown, wanted: unknown, tolerance: number): boolean {
  if (typeof wanted === "number") {
    return typeof found === "number" && Number.isFinite(found) && Math.abs(found - wanted) <= tolerance;
  }
  if (typeof wanted !== "object" || wanted === null) return found === wanted;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return false;
    return wanted.every((item, index) => isEqualJson(found[index], item, tolerance));
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) return false;
  const entries = Object.entries(wanted);
  if (Object.keys(found).length !== entries.length) return false;
  const members = found as Readonly<Record<string, unknown>>;
  return entries.every(([key, item]) => Object.hasOwn(found, key) && isEqualJson(members[key], item, tolerance));
}

function schemaDifference(value: unknown, schema: HttpSchema, where: string): string | null {
  const types = schema.type === undefined ? null : [schema.type].flat();
  if (types !== null && !types.some((type) => isOfType(value, type))) return `${where} is no ${types.join(" or ")}`;
  if (schema.const !== undefined && value !== schema.const) return `${where} is ${shownValue(value)}`;
  if (schema.enum !== undefined && !schema.enum.some((item) => item === value)) return `${where} is none of the values`;
  if (typeof value === "number") return boundDifference(value, schema.minimum, schema.maximum, where);
  if (typeof value === "string")
    return boundDifference([...value].length, schema.minLength, schema.maxLength, `the length of ${where}`);
  if (Array.isArray(value)) {
    const size = boundDifference(value.length, schema.minItems, schema.maxItems, `the length of ${where}`);
    if (size !== null || schema.items === undefined) return size;
    return firstOf(value.entries(), ([index, item]) => schemaDifference(item, schema.items ?? {}, `${where}/${index}`));
  }
  if (typeof value === "object" && value !== null) return objectDifference(value, schema, where);
  return null;
}

function objectDifference(value: object, schema: HttpSchema, where: string): string | null {
  const members = value as Readonly<Record<string, unknown>>;
  const absent = schema.required?.find((key) => !Object.hasOwn(value, key));
  if (absent !== undefined) return `${where} has no ${shown(absent)}`;
  const properties = schema.properties ?? {};
  const extra =
    schema.additionalProperties === false
      ? Object.keys(value).find((key) => !Object.hasOwn(properties, key))
      : undefined;
  if (extra !== undefined) return `${where} has the unexpected ${shown(extra)}`;
  const present = Object.entries(properties).filter(([key]) => Object.hasOwn(value, key));
  return firstOf(present, ([key, rule]) => schemaDifference(members[key], rule, `${where}/${key}`));
}

function isOfType(value: unknown, type: SchemaType): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "number") return typeof value === "number" && Number.isFinite(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function boundDifference(
  value: number,
  min: number | undefined,
  max: number | undefined,
  where: string,
): string | null {
  if (min !== undefined && value < min) return `${where} is ${value}, below ${min}`;
  if (max !== undefined && value > max) return `${where} is ${value}, above ${max}`;
  return null;
}

function firstOf<T>(items: Iterable<T>, difference: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = difference(item);
    if (found !== null) return found;
  }
  return null;
}

/** Never written out whole: what is nested a million deep could not be. */
function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return `an object with ${shown(Object.keys(value).join(", "))}`;
  return shown(String(value));
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, SHOWN_CHARACTERS_MAX));
}
