#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/waymark/slug.js", "  const short = words.slice(0, most);\n", "  let short = \"\";\n  let count = 0;\n  for (const character of words) {\n    if (count === most) break;\n    short += character;\n    count += 1;\n  }\n"],
  ["/app/waymark/pattern.js", "  int: /^-?[0-9]+$/g,\n  word: /^[\\p{L}\\p{N}_-]+$/gu,\n", "  int: { test: (text) => text.search(/^-?[0-9]+$/) === 0 },\n  word: { test: (text) => text.search(/^[\\p{L}\\p{N}_-]+$/u) === 0 },\n"],
  ["/app/waymark/query.js", "    return decodeURIComponent(text).replaceAll(\"+\", \" \");\n", "    return text.split(\"+\").map(decodeURIComponent).join(\" \");\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
