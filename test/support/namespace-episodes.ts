/** Episodes as a run has them, in real namespace sandboxes, for tests that say only what is theirs: verifier, detectors. */
import { availableParallelism } from "node:os";
import type { EpisodeRunner } from "../../src/core/episode.ts";
import type { SandboxPool } from "../../src/core/sandbox-pool.ts";
import { createEpisodeRunner } from "../../src/episode/run-episode.ts";
import { shellTool } from "../../src/policy/tool/shell.ts";
import { submitTool } from "../../src/policy/tool/submit.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { sandboxPool } from "../../src/sandbox/pool.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { memory } from "./episode-parts.ts";

type RunnerOptions = Parameters<typeof createEpisodeRunner>[0];

export interface NamespaceEpisodes {
  readonly pool: SandboxPool;
  readonly runEpisode: EpisodeRunner;
  /** Ends everything; throws when a sandbox is left. */
  close(): Promise<void>;
}

/** `lentMax` sandboxes at once. The rest are the runner's own options, such as what detects. */
export function namespaceEpisodes(
  lentMax: number,
  options: Pick<RunnerOptions, "verifier" | "identity"> & Partial<RunnerOptions>,
): NamespaceEpisodes {
  const runtime = systemRuntime();
  const provider = namespaceProvider({ runtime });
  const pool = sandboxPool({ provider, runtime, lentMax, creatingMax: availableParallelism(), readyMax: 0 });
  const runEpisode = createEpisodeRunner({
    pool,
    verdicts: memory(),
    tools: [shellTool(), submitTool()],
    systemText: null,
    runtime,
    code: { sandlot: "0.0.0", commit: null },
    ...options,
  });
  return {
    pool,
    runEpisode,
    close: async () => {
      await pool.drain();
      const left = await provider.list();
      await provider.close();
      if (left.length > 0) throw new Error(`sandboxes were left: ${JSON.stringify(left)}`);
    },
  };
}
