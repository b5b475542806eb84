/** The proof at the end of every probe: one small sandbox that is made, answers and is destroyed. */
import type { SandboxProvider, SandboxRequest } from "../core/sandbox.ts";

const TRIAL: SandboxRequest = {
  attemptId: "probe",
  role: "agent",
  fence: 0,
  image: "host",
  isolationMin: "namespace",
  limits: {
    cpus: 1,
    memoryBytes: 64 << 20,
    diskBytes: 8 << 20,
    filesMax: 1_000,
    processesMax: 16,
    shmBytes: 1 << 20,
  },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: 60_000,
};

/**
 * Closes the provider, which must be one of its own, so that a probe changes nothing of the one that serves. Throws what
 * its creation throws.
 */
export async function tryOneSandbox(provider: SandboxProvider): Promise<void> {
  try {
    const sandbox = await provider.create(TRIAL, new AbortController().signal);
    await sandbox.destroy();
  } finally {
    await provider.close();
  }
}
