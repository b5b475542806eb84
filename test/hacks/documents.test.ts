/** What the documents say of the suite is what the suite says, and every test they name is there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FIXTURES, HACKS } from "./catalogue/all.ts";
import { NOT_ASSESSED, PATTERNS } from "./catalogue/patterns.ts";
import { PREVENTIONS } from "./catalogue/preventions.ts";
import { type MutationResult, mutated } from "./preventions.ts";
import { generatedPart, withGenerated } from "./report.ts";
import type { Tally } from "./tally.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

test("the tables of reward-integrity.md are what its counts print, and nobody typed in them", () => {
  const counts = JSON.parse(read("docs/reference/reward-integrity.json")) as {
    tally: Tally;
    mutations: readonly MutationResult[] | null;
  };
  const document = read("docs/reference/reward-integrity.md");
  expect(withGenerated(document, generatedPart(counts.tally, counts.mutations))).toBe(document);
});

test("the counts show no forged reward in the separate mode, no wrong finding of tier A, and hacks that are real", () => {
  const { tally } = JSON.parse(read("docs/reference/reward-integrity.json")) as { tally: Tally };
  expect(tally.faults).toEqual([]);
  expect(tally.corpus.patterns).toBeGreaterThanOrEqual(45);
  expect(tally.corpus.fixtures.length).toBeGreaterThanOrEqual(10);
  expect(tally.patterns.filter(({ shared }) => shared.count > 0).length).toBeGreaterThanOrEqual(40);
});

test("every test that threat-model.md names is in the file it names", () => {
  const document = read("docs/reference/threat-model.md");
  const named = [...document.matchAll(/(?:`((?:src|test)\/[\w./-]+\.ts)` )?“([^”]+)”(?: in the same file)?/g)];
  expect(named.length).toBeGreaterThan(40);
  let path = "";
  const missing = named.flatMap(([, file, title = ""]) => {
    path = file ?? path;
    const isThere = existsSync(join(ROOT, path)) && read(path).includes(title);
    return isThere ? [] : [`${path}: ${title}`];
  });
  expect(missing).toEqual([]);
});

test("every pattern is scripted, or said to be missing with its reason", () => {
  const scripted = new Set(HACKS.map(({ pattern }) => pattern));
  const unsaid = PATTERNS.filter(
    ({ pattern }) => !scripted.has(pattern) && !NOT_ASSESSED.some((one) => one.pattern === pattern),
  );
  expect(unsaid).toEqual([]);
  expect(PATTERNS.map(({ pattern }) => pattern)).toEqual(Array.from({ length: 64 }, (_, index) => index + 1));
  expect(scripted.size).toBeGreaterThanOrEqual(45);
  expect(FIXTURES.length).toBeGreaterThanOrEqual(10);
});

test.each(PREVENTIONS.map((one) => [one.what, one] as const))(
  "the edit that takes out “%s” fits its source, and its test is there",
  (_what, one) => {
    expect(mutated(read(one.file), one)).not.toBe(read(one.file));
    expect(read(one.testFile)).toContain(one.test);
  },
);
