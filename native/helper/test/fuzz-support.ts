/** Whether this machine can fuzz C: one small program is built with libFuzzer, which not every clang brings along. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Null, or why this machine cannot fuzz. Leaves its program in `folder`. */
export function whyNoFuzzing(folder: string): string | null {
  if (process.platform !== "linux") return "the helper is for Linux";
  const source = join(folder, "probe.c");
  writeFileSync(source, "int LLVMFuzzerTestOneInput(const char *a, long b) { return a == 0 && b; }\n");
  const built = spawnSync("clang", ["-fsanitize=fuzzer,address", source, "-o", join(folder, "probe")]);
  return built.status === 0 ? null : "there is no clang with libFuzzer";
}
