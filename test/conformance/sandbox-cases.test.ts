/** The suite is whole: every number of the design has a case, and no two cases have one name. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { caseTitle } from "./case.ts";
import { CASE_NUMBER_MAX, HELD_ELSEWHERE, SANDBOX_CASES } from "./sandbox-cases.ts";

test("every number of the design has a case here or in a named file", () => {
  const held = new Set([...SANDBOX_CASES.map((one) => one.number), ...Object.keys(HELD_ELSEWHERE).map(Number)]);
  const all = Array.from({ length: CASE_NUMBER_MAX }, (_, index) => index + 1);
  expect(all.filter((number) => !held.has(number))).toEqual([]);
  for (const [number, file] of Object.entries(HELD_ELSEWHERE))
    expect(readFileSync(join(import.meta.dirname, "../..", file), "utf8"), file).toContain(`test("${number}. `);
});

test("no two cases share number and part", () => {
  const names = SANDBOX_CASES.map(({ number, part }) => `${number}${part ?? ""}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(new Set(SANDBOX_CASES.map(caseTitle)).size).toBe(SANDBOX_CASES.length);
});
