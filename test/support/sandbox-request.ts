/** The request for a small sandbox on the host's own files, for tests that say only what they change of it. */
import type { SandboxLimits, SandboxRequest } from "../../src/core/sandbox.ts";

const MIB = 2 ** 20;

const LIMITS: SandboxLimits = {
  cpus: 2,
  memoryBytes: 64 * MIB,
  diskBytes: 32 * MIB,
  filesMax: 5_000,
  processesMax: 64,
  shmBytes: MIB,
};

export function smallRequest(
  change: Partial<Omit<SandboxRequest, "limits">> & { readonly limits?: Partial<SandboxLimits> } = {},
): SandboxRequest {
  return {
    attemptId: "attempt",
    role: "agent",
    fence: 1,
    image: "host",
    isolationMin: "namespace",
    network: { mode: "off" },
    envVars: {},
    labels: {},
    lifetimeMs: 120_000,
    ...change,
    limits: { ...LIMITS, ...change.limits },
  };
}
