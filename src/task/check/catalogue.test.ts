import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CATALOGUE } from "./catalogue.ts";

test("the documented table of checks is the one that runs", () => {
  const text = readFileSync("docs/reference/task-check.md", "utf8");
  const rows = text.split("\n").filter((line) => /^\| \d+ \| `/.test(line));
  expect(rows).toEqual(
    CATALOGUE.map(
      ({ number, id, severity, method, profile, title }) =>
        `| ${number} | \`${id}\` | ${severity} | ${method} | ${profile} | ${title} |`,
    ),
  );
  expect(CATALOGUE.map(({ number }) => number).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 51 }, (_, index) => index + 1),
  );
});
