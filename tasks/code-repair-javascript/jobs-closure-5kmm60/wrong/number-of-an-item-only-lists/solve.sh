#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/errands/map.js", "  let index = 0;\n  for (const item of items) {\n    jobs.push(queue.submit(String(index), () => work(item, index)));\n    index += 1;\n  }\n", "  for (let index = 0; index < items.length; index += 1) {\n    jobs.push(queue.submit(String(index), () => work(items[index], index)));\n  }\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
