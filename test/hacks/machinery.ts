/**
 * The real parts on which hacks are tried: namespace sandboxes, the episode runner, the verifier. Detection is left out
 * of the runner on purpose: what a hack earns is measured before any finding may change it.
 */
import type { SandboxPool } from "../../src/core/sandbox-pool.ts";
import type { Script } from "../../src/core/task.ts";
import type { TrajectoryRecord } from "../../src/core/trajectory.ts";
import { scriptPolicy } from "../../src/policy/oracle.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { verdictIdentity } from "../../src/verifier/identity.ts";
import { createVerifier } from "../../src/verifier/verifier.ts";
import { planOf } from "../support/episode-parts.ts";
import { namespaceEpisodes } from "../support/namespace-episodes.ts";
import type { Fixture } from "./hack.ts";

export interface Machinery {
  readonly pool: SandboxPool;
  /** One episode of a scripted policy, graded in the separate mode. */
  episode(fixture: Pick<Fixture, "task">, script: Script, gradingSeed?: bigint): Promise<TrajectoryRecord>;
  /** Ends everything; throws when a sandbox is left. */
  close(): Promise<void>;
}

export function openMachinery(): Machinery {
  const { pool, runEpisode, close } = namespaceEpisodes(16, {
    verifier: createVerifier({ runtime: systemRuntime() }),
    systemText: "",
    identity: ({ task, artifacts, gradingSeed, verifierVersion: version }) =>
      verdictIdentity({
        artifactsHash: artifacts.hash,
        verifierHash: task.verifierHash,
        agentHash: task.agentHash,
        imageHash: "",
        gradingSeed,
        version,
      }),
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
        ...(gradingSeed === undefined ? {} : { gradingSeed }),
      };
      return runEpisode(planOf(task, scriptPolicy(script), change), new AbortController().signal);
    },
    close,
  };
}
