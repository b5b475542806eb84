#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/byways/pattern.js", "  int: /^-?[0-9]+$/g,\n  word: /^[\\p{L}\\p{N}_-]+$/gu,\n", "  int: /^-?[0-9]+$/m,\n  word: /^[\\p{L}\\p{N}_-]+$/mu,\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
