import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeMetric, METRICS } from "./catalogue.ts";

const SOURCE = join(import.meta.dirname, "..");

/** Text of the files that make metrics. */
const makers = ["run", "trainer"].flatMap((folder) =>
  readdirSync(join(SOURCE, folder))
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => readFileSync(join(SOURCE, folder, name), "utf8")),
);

test("each metric has one entry, with a sentence that explains it", () => {
  expect(new Set(METRICS.map(({ id }) => id)).size).toBe(METRICS.length);
  for (const { help } of METRICS) expect(help).toMatch(/^[A-Z].*\.$/);
});

test("every name a step reports is in the catalogue", () => {
  const names = makers.flatMap((text) => [...text.matchAll(/"([a-z0-9_]+(?:\/[a-z0-9_]+)+)":|\bid: "([^"]+)"/g)]);
  const unknown = names.map((match) => match[1] ?? match[2] ?? "").filter((id) => describeMetric(id) === null);
  expect(names.length).toBeGreaterThan(10);
  expect(unknown).toEqual([]);
});

test("every name of the catalogue is made somewhere", () => {
  const all = makers.join("\n");
  const isMade = (id: string): boolean => all.includes(`"${id}"`) || new RegExp(`\\b${id}\\s*[:,}]`).test(all);
  expect(METRICS.map(({ id }) => id).filter((id) => !isMade(id))).toEqual([]);
});

test("an unknown name has no description", () => {
  expect(describeMetric("actor/whatever")).toBeNull();
});
