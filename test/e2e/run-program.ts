/** Runs a program to its end for the end-to-end tests: real processes, their output as text, no shell. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = join(fileURLToPath(import.meta.url), "..", "..", "..");
export const CLI = join(ROOT, "src", "cli", "main.ts");

export interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  /** Replaces the whole environment. */
  readonly envVars?: Readonly<Record<string, string>>;
  readonly uid?: number;
  /** Called with what has been printed so far, each time more comes. */
  readonly onOutput?: (stdout: string, kill: (signal: NodeJS.Signals) => void) => void;
}

/** The environment of a test's process: no colors, no CI, nothing of ours. */
export function cleanEnvVars(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, ...extra };
}

/** Settles when the program has ended and its pipes are closed. */
export function runProgram(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd ?? ROOT,
      env: options.envVars ?? cleanEnvVars(),
      stdio: ["ignore", "pipe", "pipe"],
      ...(options.uid === undefined ? {} : { uid: options.uid }),
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (bytes: Buffer) => {
      stdout += bytes.toString();
      options.onOutput?.(stdout, (signal) => child.kill(signal));
    });
    child.stderr.on("data", (bytes: Buffer) => {
      stderr += bytes.toString();
    });
    child.on("error", reject);
    child.on("close", (exitCode, signal) => resolve({ exitCode, signal, stdout, stderr }));
  });
}

/** `sandlot …` from its sources. */
export function sandlot(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return runProgram(process.execPath, [CLI, ...args], options);
}
