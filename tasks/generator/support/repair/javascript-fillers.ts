/** Small JavaScript modules for repositories of many files. */
import type { Filler } from "./fillers.ts";

const testOf = (body: string): string =>
  `import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { NAME } from "MODULE";\n\ntest("NAME", () => {\n  ${body}\n});\n`;

export const JAVASCRIPT_FILLERS: readonly Filler[] = [
  {
    source: `/** Cuts a text to a width, with a mark where something is missing. */\nexport function NAME(text, width = NUMBER, mark = "~") {\n  return text.length <= width ? text : text.slice(0, width - mark.length) + mark;\n}\n`,
    test: testOf(`assert.equal(NAME("x".repeat(99)).length, NUMBER);`),
  },
  {
    source: `/** Splits a list into pieces of equal length; the last may be shorter. */\nexport function NAME(items, size = NUMBER) {\n  if (size < 1) throw new RangeError("size must be at least 1");\n  const pieces = [];\n  for (let start = 0; start < items.length; start += size) pieces.push(items.slice(start, start + size));\n  return pieces;\n}\n`,
    test: testOf(`assert.deepEqual(NAME([1, 2, 3], 2), [[1, 2], [3]]);`),
  },
  {
    source: `/** Keeps a number within limits. */\nexport function NAME(value, low = 0, high = NUMBER) {\n  return Math.max(low, Math.min(high, value));\n}\n`,
    test: testOf(`assert.deepEqual([NAME(-1), NAME(1000)], [0, NUMBER]);`),
  },
  {
    source: `/** Renders rows as lines of columns that stand below each other. */\nexport function NAME(rows, gap = 2) {\n  if (rows.length === 0) return "";\n  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => String(row[at]).length)));\n  const line = (row) => row.map((cell, at) => String(cell).padEnd(widths[at])).join(" ".repeat(gap));\n  return rows.map((row) => line(row).trimEnd()).join("\\n");\n}\n`,
    test: testOf(`assert.equal(NAME([["a", 1], ["bb", 2]]), "a   1\\nbb  2");`),
  },
  {
    source: `/** A checksum of a text, for quick comparisons only. */\nexport function NAME(text) {\n  let total = NUMBER;\n  for (const byte of new TextEncoder().encode(text)) total = (total * 31 + byte) % 65_521;\n  return total;\n}\n`,
    test: testOf(`assert.equal(NAME(""), NUMBER);`),
  },
  {
    source: `/** Counts how often each item occurs, most frequent first. */\nexport function NAME(items, most = NUMBER) {\n  const counts = new Map();\n  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);\n  return [...counts].sort((one, other) => other[1] - one[1]).slice(0, most);\n}\n`,
    test: testOf(`assert.deepEqual(NAME("abb"), [["b", 2], ["a", 1]]);`),
  },
  {
    source: `/** Remembers the last few values, the latest first. */\nexport function NAME(size = NUMBER) {\n  const values = [];\n  return {\n    add(value) {\n      values.unshift(value);\n      values.length = Math.min(values.length, size);\n    },\n    latest: () => [...values],\n  };\n}\n`,
    test: testOf(
      `const kept = NAME(2);\n  for (const value of [1, 2, 3]) kept.add(value);\n  assert.deepEqual(kept.latest(), [3, 2]);`,
    ),
  },
];
