/**
 * The abuse programs: small C files, each with the expected verdict in its header, compiled once per test run into static
 * programs that run in any image.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCompiler } from "../../native/build.ts";
import type { Sandbox } from "../../src/core/sandbox.ts";

export type AbuseProgram = "calls" | "compat" | "dentries" | "forks" | "hogs" | "terminal";

const built = new Map<AbuseProgram, Buffer | null>();

/** The compiled program, or null where this machine's compiler cannot make it: `compat` needs one for 32 bits. */
export function abuseProgram(name: AbuseProgram): Buffer | null {
  const known = built.get(name);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), "sandlot-abuse-"));
  const output = join(folder, name);
  const source = join(import.meta.dirname, "programs", `${name}.c`);
  if (!existsSync(source)) throw new Error(`The abuse program ${source} is missing from this package.`);
  const flags = name === "compat" ? ["-m32", "-nostdlib"] : ["-std=gnu11", "-lrt"];
  try {
    execFileSync(findCompiler([]), ["-static", "-O1", "-o", output, source, ...flags], { stdio: "ignore" });
    built.set(name, readFileSync(output));
  } catch {
    built.set(name, null);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return built.get(name) ?? null;
}

/** Puts a program into a sandbox and tells its path there; null where it cannot be compiled. */
export async function placeProgram(sandbox: Sandbox, name: AbuseProgram): Promise<string | null> {
  const bytes = abuseProgram(name);
  if (bytes === null) return null;
  const path = `/tmp/${name}`;
  const written = await sandbox.files.write({ path, bytes, mode: 0o755 });
  if (!written.ok) throw new Error(`The abuse program ${name} could not be placed: ${written.error}.`);
  return path;
}
