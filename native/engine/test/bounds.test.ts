/** The engine's memory: every piece of its one block is kept to, under the compiler's sanitizers. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findCompiler } from "../../build.ts";

const ENGINE = join(import.meta.dirname, "..");
const SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/** A compiler may come without the sanitizers' libraries; the test is then skipped, visibly. */
function hasSanitizers(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-bounds-"));
  try {
    const empty = join(folder, "empty.c");
    writeFileSync(empty, "int main(void) { return 0; }\n");
    return spawnSync(findCompiler(["clang"]), [...SANITIZERS, empty, "-o", join(folder, "empty")]).status === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compiling with sanitizers takes some seconds on an idle machine and much longer on a busy one. */
const TIMEOUT_MS = 240_000;

test.skipIf(!hasSanitizers())(
  "training and sampling touch nothing outside their own arrays",
  { timeout: TIMEOUT_MS },
  () => {
    const folder = mkdtempSync(join(tmpdir(), "sandlot-bounds-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const program = join(folder, "bounds");
    const sources = readdirSync(ENGINE).filter((name) => name.endsWith(".c") && !name.startsWith("addon"));
    const flags = [
      "-O0",
      "-std=gnu11",
      "-pthread",
      "-ffp-contract=fast",
      "-Wall",
      "-Wextra",
      "-Werror",
      "-Wno-psabi",
      ...SANITIZERS,
    ];
    const files = [join(ENGINE, "test", "bounds.c"), ...sources.map((name) => join(ENGINE, name))];
    execFileSync(findCompiler(["clang"]), [...flags, "-o", program, ...files, "-lm"]);
    // Leak detection needs a privilege that sandboxes of tests often lack; bounds do not.
    const env = { ...process.env, ASAN_OPTIONS: "detect_leaks=0" };
    const { status, stdout, stderr } = spawnSync(program, { encoding: "utf8", env });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "ok\n", stderr: "" });
  },
);
