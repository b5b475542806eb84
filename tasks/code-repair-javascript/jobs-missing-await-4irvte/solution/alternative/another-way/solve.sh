#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/workbench/queue.js", "    return { kind: \"done\", value: work() };\n", "    const value = await work();\n    return { kind: \"done\", value };\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
