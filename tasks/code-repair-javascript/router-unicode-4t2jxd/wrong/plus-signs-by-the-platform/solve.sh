#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/waymark/slug.js", "  const short = words.slice(0, most);\n", "  const short = [...words].slice(0, most).join(\"\");\n"],
  ["/app/waymark/pattern.js", "  int: /^-?[0-9]+$/g,\n  word: /^[\\p{L}\\p{N}_-]+$/gu,\n", "  int: /^-?[0-9]+$/,\n  word: /^[\\p{L}\\p{N}_-]+$/u,\n"],
  ["/app/waymark/query.js", "    return decodeURIComponent(text).replaceAll(\"+\", \" \");\n", "    return new URLSearchParams(\"x=\" + text).get(\"x\");\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
