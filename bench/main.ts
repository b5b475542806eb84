/**
 * Runs every benchmark, prints their tables, and writes `bench/results/NAME.json`. Names on the command line choose:
 * `npm run bench -- sandbox engine`. Nothing here asserts; a benchmark measures and says under which load.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run as engine } from "./engine.ts";
import { run as grading } from "./grading.ts";
import { run as loop } from "./loop.ts";
import { run as sandbox } from "./sandbox.ts";
import { run as tasks } from "./tasks.ts";

const BENCHMARKS: Readonly<Record<string, () => Promise<unknown>>> = { sandbox, engine, grading, tasks, loop };

const wanted = process.argv.slice(2);
if (wanted.includes("--help") || wanted.includes("-h")) {
  console.log(`Usage: npm run bench -- [${Object.keys(BENCHMARKS).join("|")}]...  (all of them when none is named)`);
  process.exit(0);
}
const unknown = wanted.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(", ")}. Choose from: ${Object.keys(BENCHMARKS).join(", ")}`);
  process.exit(2);
}
const folder = join(import.meta.dirname, "results");
await mkdir(folder, { recursive: true });
for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n── ${name} ${"─".repeat(70 - name.length)}`);
  const result = await run();
  const file = join(folder, `${name}.json`);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  console.log(`written to bench/results/${name}.json`);
}
