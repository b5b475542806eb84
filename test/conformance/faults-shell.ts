/** Faults of the kept shell. */
import type { ShellResult } from "../../src/core/exec.ts";
import type { FaultHooks } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";
import { text } from "./sandbox-parts.ts";

const shellWith = (change: Partial<ShellResult>): FaultHooks => ({
  shellResult: (result) => ({ ...result, ...change }),
});

const shellOutput = (change: (output: string) => string): FaultHooks => ({
  shellResult: (result) => ({ ...result, output: Buffer.from(change(text(result.output))) }),
});

/** A fresh shell for each run. */
const forgetful: FaultHooks = {
  sandbox: (sandbox) => ({
    shell: async (options) => {
      const shell = await sandbox.shell(options);
      return {
        ...shell,
        run: async (command, runOptions) => {
          const fresh = await sandbox.shell(options);
          const result = await fresh.run(command, runOptions);
          await fresh.close();
          return result;
        },
      };
    },
  }),
};

/** A second run waits for the first. */
const queueing: FaultHooks = {
  sandbox: (sandbox) => ({
    shell: async (options) => {
      const shell = await sandbox.shell(options);
      let last: Promise<unknown> = Promise.resolve();
      const run: typeof shell.run = (command, runOptions) => {
        const next = last.then(() => shell.run(command, runOptions));
        last = next.catch(() => undefined);
        return next;
      };
      return { ...shell, run };
    },
  }),
};

export const FAULTS_OF_SHELL: readonly Fault[] = [
  { breaks: "70", what: "starts a shell for each run", ...forgetful },
  {
    breaks: "70b",
    what: "gives all output before all errors",
    ...shellOutput((output) => output.split("\n").sort().reverse().join("\n")),
  },
  {
    breaks: "70c",
    what: "loses the run after a syntax error",
    ...shellOutput((output) => output.replace("still\n", "")),
  },
  { breaks: "70d", what: "restarts the shell at each timeout", ...forgetful },
  { breaks: "70e", what: "restarts the shell without a word", ...shellWith({ restarted: false }) },
  { breaks: "70f", what: "does not tell that the shell itself ended", ...shellWith({ restarted: false }) },
  { breaks: "70g", what: "loses what came between two runs", ...shellOutput((output) => output.replace("late\n", "")) },
  { breaks: "70h", what: "counts no dropped byte", ...shellWith({ outputBytesTruncated: 0 }) },
  { breaks: "70i", what: "tells a cancelled run as its own end", ...shellWith({ verdict: "exited" }) },
  { breaks: "70j", what: "lets a second run wait", ...queueing },
  {
    breaks: "35e",
    what: "reads its report where the command can write",
    shellResult: (result, command) => (command.includes("0123456789abcdef") ? { ...result, exitCode: 0 } : result),
  },
  { breaks: "20e", what: "does not look at the kernel's counter", ...shellWith({ oomKilled: false }) },
];
