#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/errands/bus.js", "    for (const listener of listeners) {\n      count += 1;\n", "    for (const listener of [...listeners]) {\n      if (!listeners.includes(listener)) continue;\n      count += 1;\n"],
  ["/app/errands/queue.js", "    if (this.#active === 0) this.bus.emit(\"idle\");\n    this.#fill();\n", "    this.#fill();\n    if (this.#active === 0) this.bus.emit(\"idle\");\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
