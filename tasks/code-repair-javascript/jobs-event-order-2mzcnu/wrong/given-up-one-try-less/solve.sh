#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/foreman/queue.js", "    if (this.#active === 0) this.bus.emit(\"idle\");\n    this.#fill();\n", "    this.#fill();\n    if (this.#active === 0) this.bus.emit(\"idle\");\n"],
  ["/app/foreman/retry.js", "      if (!isWorthIt(error)) throw error;\n", "      if (attempt >= times - 1 || !isWorthIt(error)) throw error;\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
