/**
 * Fuzzes what the helper makes of hostile paths and of hostile upload streams, under the sanitizers, for a bounded number
 * of inputs from a fixed seed. A crash prints the input that made it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { whyNoFuzzing } from "./fuzz-support.ts";

const HELPER = join(import.meta.dirname, "..");
const TIMES = process.env["SANDLOT_TEST_SIZE"] === "long" ? 100 : 1;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-fuzz-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function fuzz(
  inputs: number,
  sources: readonly string[],
  flags: readonly string[],
  seeds: readonly (string | Uint8Array)[],
): void {
  const runs = inputs * TIMES;
  const program = join(folder, "fuzz");
  const sanitizers = ["-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"];
  const paths = sources.map((name) => join(HELPER, name));
  execFileSync("clang", ["-std=gnu11", "-Wall", "-Wextra", ...sanitizers, ...flags, ...paths, "-o", program]);
  mkdirSync(join(folder, "corpus"));
  for (const [index, seed] of seeds.entries()) writeFileSync(join(folder, "corpus", `seed-${index}`), seed);
  const run = spawnSync(
    program,
    [`-runs=${runs}`, "-seed=1", "-max_len=512", "-timeout=20", "-print_final_stats=1", "corpus"],
    {
      cwd: folder,
      env: { ...process.env, FUZZ_FOLDER: folder, ASAN_OPTIONS: "detect_leaks=0" },
      encoding: "utf8",
    },
  );
  expect(run.status, run.stderr.slice(-4_000)).toBe(0);
  expect(Number(/number_of_executed_units: (\d+)/.exec(run.stderr)?.[1])).toBeGreaterThanOrEqual(runs);
}

test("an upload stream from a hostile sender is decoded the same in any pieces, and never out of its folder", (context) => {
  const reason = whyNoFuzzing(folder);
  if (reason !== null) context.skip(reason);
  const record = (kind: string, path: string, rest = ""): string =>
    `${kind}\0${String.fromCharCode(path.length)}\0\xa4\x01\0\0${path}${rest}`;
  const seeds = [
    record("d", "a") + record("f", "a/b", "\x03\0\0\0xyz\x02\0\0\0zz\0\0\0\0") + record("e", ""),
    record("f", "../up", "\0\0\0\0"),
    record("f", "/abs", "\0\0\0\0"),
    record("d", "a/./b") + record("d", "a//b"),
  ];
  fuzz(
    50_000,
    ["tree-records.c", "test/fuzz-tree-records.c"],
    [],
    seeds.map((seed) => Buffer.from(`\x05${seed}`, "latin1")),
  );
});

test("no path of a hostile caller leads out of the sandbox's tree", (context) => {
  const reason = whyNoFuzzing(folder);
  if (reason !== null) context.skip(reason);
  const paths = [
    "a/b/c",
    "../../outside/x",
    "up/up/outside/x",
    "out/x",
    "abs/kept",
    "magic/etc",
    "loop/x",
    "way/../..//f",
    "proc/1",
  ];
  const seeds = paths.flatMap((path, index) => [`${String.fromCharCode(index)}${path}`, `\x03${path}\0out/moved`]);
  fuzz(3_000, ["files.c", "files-out.c", "files-entry.c", "test/fuzz-file-paths.c"], ["-D_exit=fuzz_exit"], seeds);
});
