/**
 * The real parts on which hacks are tried: namespace sandboxes, the episode runner, the verifier. Detection is left out
 * of the runner on purpose: what a hack earns is measured before any finding may change it.
 */
import { availableParallelism } from "node:os";
import type { EpisodeRunner } from "../../src/core/episode.ts";
import type { SandboxPool } from "../../src/core/sandbox-pool.ts";
import type { Script } from "../../src/core/task.ts";
import type { TrajectoryRecord } from "../../src/core/trajectory.ts";
import { createEpisodeRunner } from "../../src/episode/run-episode.ts";
import { scriptPolicy } from "../../src/policy/oracle.ts";
import { shellTool } from "../../src/policy/tool/shell.ts";
import { submitTool } from "../../src/policy/tool/submit.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { sandboxPool } from "../../src/sandbox/pool.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { verdictIdentity } from "../../src/verifier/identity.ts";
import { createVerifier } from "../../src/verifier/verifier.ts";
import { memory, planOf } from "../support/episode-parts.ts";
import type { Fixture } from "./hack.ts";

export interface Machinery {
  readonly pool: SandboxPool;
  /** One episode of a scripted policy, graded in the separate mode. */
  episode(fixture: Fixture, script: Script, gradingSeed: bigint): Promise<TrajectoryRecord>;
  /** Ends everything; throws when a sandbox is left. */
  close(): Promise<void>;
}

export function openMachinery(): Machinery {
  const runtime = systemRuntime();
  const provider = namespaceProvider({ runtime });
  const cores = availableParallelism();
  const pool = sandboxPool({ provider, runtime, lentMax: 16, creatingMax: cores, readyMax: 0 });
  const runEpisode: EpisodeRunner = createEpisodeRunner({
    pool,
    verifier: createVerifier({ runtime }),
    verdicts: memory(),
    identity: ({ task, artifacts, gradingSeed, verifierVersion: version }) =>
      verdictIdentity({
        artifactsHash: artifacts.hash,
        verifierHash: task.verifierHash,
        agentHash: task.agentHash,
        imageHash: "",
        gradingSeed,
        version,
      }),
    tools: [shellTool(), submitTool()],
    systemText: "",
    runtime,
    code: { sandlot: "0.0.0", commit: null },
  });
  let episodes = 0;
  return {
    pool,
    episode: ({ task }, script, gradingSeed) => {
      episodes += 1;
      const change = {
        episodeId: `hack-${episodes}`,
        extraFiles: script.files,
        mayReuseVerdict: false,
        gradingSeed,
      };
      return runEpisode(planOf(task, scriptPolicy(script), change), new AbortController().signal);
    },
    close: async () => {
      await pool.drain();
      const left = await provider.list();
      await provider.close();
      if (left.length > 0) throw new Error(`sandboxes were left: ${JSON.stringify(left)}`);
    },
  };
}
