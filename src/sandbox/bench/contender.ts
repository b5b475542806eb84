/** What a benchmark asks of anything that makes sandboxes: ours behind their contract, or a peer behind its own calls. */
import type { Sandbox, SandboxProvider, SandboxRequest } from "../../core/sandbox.ts";

/** A live sandbox of a contender. */
export interface BenchBox {
  /** Runs a command that does nothing and waits for its exit code. Throws when that is not 0. */
  execNothing(): Promise<void>;
  destroy(): Promise<void>;
}

/** One that takes part. */
export interface Contender {
  readonly name: string;
  /** Of the peer's own code, as it tells it. */
  readonly version: string;
  /** A cold one whose first command has answered. */
  create(): Promise<BenchBox>;
}

const EXEC_MS = 60_000;

/** The same limits for every contender of ours. */
export function requestFor(image: string): SandboxRequest {
  return {
    attemptId: "bench",
    role: "agent",
    fence: 1,
    image,
    isolationMin: "process",
    limits: {
      cpus: 2,
      memoryBytes: 256 << 20,
      diskBytes: 64 << 20,
      filesMax: 10_000,
      processesMax: 256,
      shmBytes: 8 << 20,
    },
    network: { mode: "off" },
    envVars: {},
    labels: {},
    lifetimeMs: 3_600_000,
  };
}

/** Throws when the command does not exit with 0. */
export async function execNothing(sandbox: Sandbox): Promise<void> {
  const result = await sandbox.exec(["/bin/true"], { timeoutMs: EXEC_MS, outputBytesMax: 1_024 });
  if (result.exitCode !== 0) throw new Error(`/bin/true ended as ${result.verdict}`);
}

/** One of our sandboxes as a contender's. */
export function boxOf(sandbox: Sandbox): BenchBox {
  return { execNothing: () => execNothing(sandbox), destroy: () => sandbox.destroy() };
}

/** One of our providers as a contender. */
export function providerContender(provider: SandboxProvider, name: string, image: string, version: string): Contender {
  const request = requestFor(image);
  return {
    name,
    version,
    create: async () => boxOf(await provider.create(request, new AbortController().signal)),
  };
}
