import fc from "fast-check";
import { expect, test } from "vitest";
import { answerDifference, isEqualJson } from "./http-compare.ts";
import type { HttpExpected, HttpSchema } from "./http-spec.ts";

function difference(body: string | Uint8Array, expected: Partial<HttpExpected>, headers: [string, string][] = []) {
  const answer = { status: 200, headers, body: typeof body === "string" ? Buffer.from(body) : body };
  return answerDifference(answer, { status: 200, headers: {}, json: [], ...expected });
}

function bySchema(value: unknown, schema: HttpSchema) {
  return difference(JSON.stringify(value), { json: [{ pointer: "", schema }] });
}

test.each<[unknown, HttpSchema, string | null]>([
  [1, { type: "integer" }, null],
  [1.5, { type: "integer" }, "the body is no integer"],
  ["1", { type: ["number", "null"] }, "the body is no number or null"],
  [null, { type: ["number", "null"] }, null],
  [[1, 2], { type: "array", items: { minimum: 1 }, minItems: 2, maxItems: 2 }, null],
  [[1, 0], { items: { minimum: 1 } }, "the body/1 is 0, below 1"],
  [[], { minItems: 1 }, "the length of the body is 0, below 1"],
  ["äö", { maxLength: 2 }, null],
  [{ a: 1 }, { required: ["a", "b"] }, 'the body has no "b"'],
  [{ a: 1, b: 2 }, { properties: { a: {} }, additionalProperties: false }, 'the body has the unexpected "b"'],
  [{ a: { b: "x" } }, { properties: { a: { properties: { b: { const: "y" } } } } }, 'the body/a/b is "x"'],
  ["x", { enum: ["y", "x"] }, null],
  [[], { type: "object" }, "the body is no object"],
])("%j against the schema %j: %j", (value, schema, said) => {
  expect(bySchema(value, schema)).toBe(said);
});

test("members every object inherits are no members of an answer", () => {
  expect(bySchema({}, { required: ["toString"] })).toContain("has no");
  expect(difference("{}", { json: [{ pointer: "/__proto__", equals: {} }] })).toBe("/__proto__ is absent");
  expect(difference('{"__proto__": 1}', { json: [{ pointer: "/__proto__", equals: 1 }] })).toBe(null);
});

test("a pointer names members, items and keys with slashes, and nothing else", () => {
  const body = JSON.stringify({ a: [{ "b/c~": 1 }], length: 3 });
  expect(difference(body, { json: [{ pointer: "/a/0/b~1c~0", equals: 1 }] })).toBe(null);
  expect(difference(body, { json: [{ pointer: "/a/length", absent: true }] })).toBe(null);
  expect(difference(body, { json: [{ pointer: "/a/00", absent: true }] })).toBe(null);
  expect(difference(body, { json: [{ pointer: "/a", absent: true }] })).toBe("/a is there");
});

test("headers are found in any case, and one of several of a name is enough", () => {
  const headers: [string, string][] = [
    ["Set-Cookie", "a=1; HttpOnly"],
    ["set-cookie", "b=2"],
  ];
  expect(difference("", { headers: { "SET-COOKIE": "b=2" } }, headers)).toBe(null);
  expect(difference("", { headers: { "set-cookie": { contains: "HttpOnly" } } }, headers)).toBe(null);
  expect(difference("", { headers: { "set-cookie": "c=3" } }, headers)).toContain("set-cookie is");
  expect(difference("", { headers: { location: "/" } })).toBe("the header location is absent");
});

test("a body that is no UTF-8, no JSON, too deep or not finite differs, and nothing breaks", () => {
  const json = [{ pointer: "", equals: 1 }];
  expect(difference(Uint8Array.of(0xff), { json })).toBe("the body is no UTF-8");
  expect(difference("{", { json })).toContain("no JSON");
  expect(difference("1e999", { json: [{ pointer: "", equals: 1, tolerance: 1e308 }] })).toContain("the body is");
  const deep = `${"[".repeat(400_000)}${"]".repeat(400_000)}`;
  expect(difference(deep, { json: [{ pointer: "", schema: { type: "array" } }] })).toBe(null);
  expect(difference(deep, { json })).not.toBe(null);
});

test("any JSON equals itself written and read again, and no other", () => {
  const plain = fc.json().map((text): unknown => JSON.parse(text));
  fc.assert(
    fc.property(plain, plain, (one, other) => {
      expect(isEqualJson(JSON.parse(JSON.stringify(one)), one, 0)).toBe(true);
      expect(isEqualJson(one, other, 0)).toBe(isEqualJson(other, one, 0));
    }),
  );
});
