/** Small Python modules for repositories of many files. */
import type { Filler } from "./fillers.ts";

const testOf = (body: string): string =>
  `import unittest\n\nfrom MODULE import NAME\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        ${body}\n`;

export const PYTHON_FILLERS: readonly Filler[] = [
  {
    source: `"""Cuts a text to a width, with a mark where something is missing."""\n\n\ndef NAME(text, width=NUMBER, mark="~"):\n    if len(text) <= width:\n        return text\n    return text[: width - len(mark)] + mark\n`,
    test: testOf(`self.assertEqual(len(NAME("x" * 99)), NUMBER)`),
  },
  {
    source: `"""Splits a list into pieces of equal length; the last may be shorter."""\n\n\ndef NAME(items, size=NUMBER):\n    if size < 1:\n        raise ValueError("size must be at least 1")\n    return [items[start : start + size] for start in range(0, len(items), size)]\n`,
    test: testOf(`self.assertEqual(NAME([1, 2, 3], 2), [[1, 2], [3]])`),
  },
  {
    source: `"""Keeps a number within limits."""\n\n\ndef NAME(value, low=0, high=NUMBER):\n    return max(low, min(high, value))\n`,
    test: testOf(`self.assertEqual([NAME(-1), NAME(1000)], [0, NUMBER])`),
  },
  {
    source: `"""Renders rows as lines of columns that stand below each other."""\n\n\ndef NAME(rows, gap=2):\n    if not rows:\n        return ""\n    widths = [max(len(str(row[at])) for row in rows) for at in range(len(rows[0]))]\n    lines = [(" " * gap).join(str(cell).ljust(width) for cell, width in zip(row, widths)) for row in rows]\n    return "\\n".join(line.rstrip() for line in lines)\n`,
    test: testOf(`self.assertEqual(NAME([["a", 1], ["bb", 2]]), "a   1\\nbb  2")`),
  },
  {
    source: `"""A checksum of a text, for quick comparisons only."""\n\n\ndef NAME(text):\n    total = NUMBER\n    for byte in text.encode("utf-8"):\n        total = (total * 31 + byte) % 65_521\n    return total\n`,
    test: testOf(`self.assertEqual(NAME(""), NUMBER)`),
  },
  {
    source: `"""Counts how often each item occurs, most frequent first."""\n\n\ndef NAME(items, most=NUMBER):\n    counts = {}\n    for item in items:\n        counts[item] = counts.get(item, 0) + 1\n    return sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))[:most]\n`,
    test: testOf(`self.assertEqual(NAME("abb"), [("b", 2), ("a", 1)])`),
  },
  {
    source: `"""Remembers the last few values."""\n\n\nclass NAME:\n    def __init__(self, size=NUMBER):\n        self.size = size\n        self.values = []\n\n    def add(self, value):\n        self.values.append(value)\n        del self.values[: -self.size]\n\n    def latest(self):\n        return list(reversed(self.values))\n`,
    test: testOf(
      `kept = NAME(2)\n        for value in (1, 2, 3):\n            kept.add(value)\n        self.assertEqual(kept.latest(), [3, 2])`,
    ),
  },
];
