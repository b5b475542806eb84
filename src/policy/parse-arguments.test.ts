import { expect, test } from "vitest";
import { canonicalJson } from "../core/json.ts";
import { parseArguments } from "./parse-arguments.ts";

test.each([
  ["a number beyond every float", '{"a":1e999}', "a number too large"],
  ["one deep inside", '{"a":[{"b":-1e999}]}', "a number too large"],
  ["a list nested a few thousand levels", `{"a":${"[".repeat(3_000)}${"]".repeat(3_000)}}`, "deeper than 64"],
  ["an object nested so", `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`, "deeper than 64"],
])("no call keeps its own episode from being recorded: %s is a mistake of the policy", (_, raw, why) => {
  const parsed = parseArguments(raw);
  expect(parsed).toMatchObject({ arguments: null, parseError: expect.stringContaining(why) });
  expect(() => canonicalJson(parsed)).not.toThrow();
});

test("arguments that a record can hold are taken as they are", () => {
  const raw = `{"command":"ls","deep":${"[".repeat(40)}1e308${"]".repeat(40)}}`;
  expect(parseArguments(raw)).toEqual({ arguments: JSON.parse(raw), parseError: null });
});
