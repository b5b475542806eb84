/** Faults of the record that is made outside of a sandbox. */
import type { Sandbox, SandboxTrace } from "../../src/core/sandbox.ts";
import type { FaultHooks } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";

type Log = Awaited<ReturnType<SandboxTrace["log"]>>;

/** Changes what a trace tells. */
const logWith = (change: (log: Log) => Log): FaultHooks => ({
  sandbox: (sandbox): Partial<Sandbox> => ({
    trace: async (watched) => {
      const trace = (await sandbox.trace?.(watched)) ?? null;
      return trace === null ? null : { log: async () => change(await trace.log()) };
    },
  }),
});

export const FAULTS_OF_TRACES: readonly Fault[] = [
  {
    breaks: "80",
    what: "records no write of a watched file",
    ...logWith((log) => ({ ...log, events: log.events.filter(({ kind }) => kind !== "write") })),
  },
  {
    breaks: "80b",
    what: "forgets its record in a flood",
    ...logWith((log) => ({ ...log, events: log.events.slice(0, 8) })),
  },
];
