/** Faults of snapshots, forks and resets. */
import { Failure } from "../../src/core/errors.ts";
import type { Snapshot } from "../../src/core/sandbox.ts";
import { type FaultHooks, outputReplacing } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";
import { OPTIONS } from "./sandbox-parts.ts";

/** Does something in the sandbox after each reset. */
const afterReset = (command: string): FaultHooks => ({
  sandbox: (sandbox) => ({
    reset: async (snapshotId) => {
      const report = await sandbox.reset(snapshotId);
      await sandbox.exec(command, OPTIONS);
      return report;
    },
  }),
});

/** A second snapshot waits for the first. */
function queueing(): FaultHooks {
  return {
    sandbox: (sandbox) => {
      let last: Promise<unknown> = Promise.resolve();
      const snapshot = (options?: Parameters<typeof sandbox.snapshot>[0]): Promise<Snapshot> => {
        const next = last.then(() => sandbox.snapshot(options));
        last = next.catch(() => undefined);
        return next;
      };
      return { snapshot };
    },
  };
}

function forkingSoOften(times: number): FaultHooks {
  let made = 0;
  return {
    sandbox: (sandbox) => ({
      fork: async (count, options) => {
        made += 1;
        if (made > times) throw new Failure("unsupported", `No more than ${times} forks stand on each other.`);
        return sandbox.fork(count, options);
      },
    }),
  };
}

export const FAULTS_OF_SNAPSHOT: readonly Fault[] = [
  { breaks: "59d", what: "keeps a file over a reset", ...afterReset("echo secret > /app/left-over") },
  {
    breaks: "59",
    what: "forks the image and not the sandbox",
    sandbox: (sandbox) => ({
      fork: async (count, options) => {
        const forks = await sandbox.fork(count, options);
        for (const fork of forks) await fork.reset();
        return forks;
      },
    }),
  },
  { breaks: "59b", what: "gives a fork another name", ...outputReplacing(/^sandbox\n/, "fork-1\n") },
  { breaks: "59c", what: "always goes back to the image", sandbox: (sandbox) => ({ reset: () => sandbox.reset() }) },
  { breaks: "63", what: "takes any image for its own", request: (request) => ({ ...request, image: "host" }) },
  {
    breaks: "66",
    what: "ends processes for a snapshot unasked",
    sandbox: (sandbox) => ({ snapshot: (options) => sandbox.snapshot({ live: "kill", ...options }) }),
  },
  { breaks: "66b", what: "loses the last file of a snapshot", ...afterReset("rm /app/kept/5") },
  { breaks: "66c", what: "loses the last file of a copy", ...afterReset("rm /app/kept/5") },
  { breaks: "66d", what: "lets a second snapshot wait", ...queueing() },
  { breaks: "67", what: "forks eight deep", ...forkingSoOften(8) },
];
