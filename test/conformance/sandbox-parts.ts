/** What the sandbox cases share: the usual request and options, and short names for what most of them do. */
import type { ExecOptions, ExecResult } from "../../src/core/exec.ts";
import type { Sandbox, SandboxRequest } from "../../src/core/sandbox.ts";

export const MIB = 1 << 20;

/** Small limits, so that a case that goes wrong stays cheap. */
export const REQUEST: SandboxRequest = {
  attemptId: "conformance",
  role: "agent",
  fence: 1,
  image: "host",
  isolationMin: "namespace",
  limits: {
    cpus: 2,
    memoryBytes: 64 * MIB,
    diskBytes: 16 * MIB,
    filesMax: 2_000,
    processesMax: 64,
    shmBytes: 4 * MIB,
  },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: 120_000,
};

export const OPTIONS: ExecOptions = { timeoutMs: 20_000, outputBytesMax: MIB };

export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

/** Runs a command that must exit with 0, and gives its standard output. */
export async function output(
  sandbox: Sandbox,
  command: string | readonly string[],
  options: Partial<ExecOptions> = {},
): Promise<string> {
  const result = await sandbox.exec(command, { ...OPTIONS, ...options });
  if (result.exitCode !== 0) throw new Error(`${JSON.stringify(command)} ended as ${describe(result)}`);
  return text(result.stdout);
}

export function describe(result: ExecResult): string {
  return `${result.verdict} ${result.exitCode ?? result.signal ?? result.startError}: ${text(result.stderr).slice(0, 500)}`;
}

/** Command lines of the processes a command of the sandbox can see, itself left out. */
export async function processLines(sandbox: Sandbox): Promise<string[]> {
  const script =
    "for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || tr '\\0' ' ' <$p/cmdline 2>/dev/null && echo; done; true";
  return (await output(sandbox, script))
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
