#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/stillroom/cache.js", "    await this.#loading.get(key);\n", "    await this.#loading.get(key);\n    if (this.has(key)) return this.get(key);\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
