/**
 * Each prevention, the edit that takes it out, and the test that must then fail. The edits are exact texts of the
 * source, so that one which no longer matches is noticed. Run in a copy of the repository.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PREVENTIONS, type Prevention } from "./catalogue/preventions.ts";

const ROOT = join(import.meta.dirname, "../..");
const TEST_MS = 300_000;

export interface MutationResult extends Pick<Prevention, "code" | "what" | "file" | "testFile" | "test"> {
  /** True when the named test failed without the prevention. */
  readonly isRed: boolean;
}

/** Takes each prevention out in turn. Throws where an edit does not match its source exactly once. */
export async function runMutations(
  say: (line: string) => void,
  preventions: readonly Prevention[] = PREVENTIONS,
): Promise<MutationResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "sandlot-mutate-"));
  try {
    for (const part of ["src", "native", "test", "tasks", "package.json", "vitest.config.ts", "tsconfig.json"]) {
      await cp(join(ROOT, part), join(folder, part), { recursive: true });
    }
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const results: MutationResult[] = [];
    for (const one of preventions) {
      const isRed = await isRedWithout(folder, one);
      say(`${isRed ? "red" : "STILL GREEN"}: ${one.code} ${one.what}`);
      const { code, what, file, testFile, test } = one;
      results.push({ code, what, file, testFile, test, isRed });
    }
    return results;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isRedWithout(folder: string, prevention: Prevention): Promise<boolean> {
  const path = join(folder, prevention.file);
  const source = await readFile(path, "utf8");
  await writeFile(path, mutated(source, prevention));
  try {
    return await isRed(folder, prevention);
  } finally {
    await writeFile(path, source);
  }
}

/** The source without the prevention. Throws RangeError unless the text to replace stands in it exactly once. */
export function mutated(source: string, { file, from, to }: Pick<Prevention, "file" | "from" | "to">): string {
  const parts = source.split(from);
  if (parts.length !== 2) throw new RangeError(`${file}: the text to take out stands ${parts.length - 1} times in it`);
  return parts.join(to);
}

/** Runs the one test; red only if it ran and failed. */
async function isRed(folder: string, { testFile, test }: Prevention): Promise<boolean> {
  const report = join(folder, "report.json");
  await rm(report, { force: true });
  const pattern = test.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const words = ["node_modules/vitest/vitest.mjs", "run", testFile, "-t", pattern, "--reporter=json"];
  await new Promise<void>((resolve) => {
    execFile(
      process.execPath,
      [...words, `--outputFile=${report}`],
      { cwd: folder, timeout: TEST_MS, killSignal: "SIGKILL", maxBuffer: 64 * 1024 * 1024 },
      () => resolve(),
    );
  });
  const text = await readFile(report, "utf8").catch(() => null);
  if (text === null) return false;
  return (JSON.parse(text) as { numFailedTests: number }).numFailedTests > 0;
}
