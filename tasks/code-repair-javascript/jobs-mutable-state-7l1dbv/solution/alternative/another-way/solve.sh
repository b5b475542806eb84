#!/bin/bash
set -eu
cd /app
node --input-type=module - <<'NODE'
import { readFileSync, writeFileSync } from "node:fs";

const edits = [
  ["/app/errands/bus.js", "    for (const listener of listeners) {\n      count += 1;\n", "    const called = listeners.slice();\n    for (const listener of called.filter((one) => listeners.includes(one))) {\n      if (listeners.indexOf(listener) < 0) continue;\n      count += 1;\n"],
  ["/app/errands/quantile.js", "  const ordered = [...values].sort();\n", "  const ordered = Float64Array.from(values).sort();\n"],
  ["/app/errands/queue.js", "    if (this.#active === 0) this.bus.emit(\"idle\");\n    this.#fill();\n", "    if (this.#active === 0 && this.#waiting.length === 0) this.bus.emit(\"idle\");\n    else this.#fill();\n"],
];
for (const [name, from, to] of edits) {
  const parts = readFileSync(name, "utf8").split(from);
  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);
  writeFileSync(name, parts.join(to));
}
NODE
