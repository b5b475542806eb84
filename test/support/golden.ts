/** Compares with a stored file under `test/golden/`. `SANDLOT_GOLDEN=write` writes it instead: read the difference before committing. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";

export function expectGolden(name: string, value: unknown): void {
  const path = join(import.meta.dirname, "..", "golden", name);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if (process.env["SANDLOT_GOLDEN"] === "write") {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  expect(text).toBe(readFileSync(path, "utf8"));
}
