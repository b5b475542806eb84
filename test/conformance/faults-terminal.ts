/** Faults of what a caller stays with: terminals, open input, attachment and the list of processes. */
import type { ExecOptions, SandboxProcess } from "../../src/core/exec.ts";
import { type FaultHooks, hurried, resultWith } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";

/** Changes what `start` gives. */
const startedWith = (change: (process: SandboxProcess) => Partial<SandboxProcess>): FaultHooks => ({
  sandbox: (sandbox) => ({
    start: async (command, options) => {
      const process = await sandbox.start(command, options);
      return { ...process, ...change(process) };
    },
  }),
});

const withoutTerminal = ({ pty: _pty, ...options }: ExecOptions): ExecOptions => options;

export const FAULTS_OF_TERMINALS: readonly Fault[] = [
  { breaks: "75", what: "gives no terminal", options: withoutTerminal },
  { breaks: "75b", what: "does not tell a new size", ...startedWith(() => ({ resize: () => undefined })), ...hurried },
  {
    breaks: "75c",
    what: "keeps a terminal's input open",
    ...startedWith(() => ({ closeInput: () => undefined })),
    ...hurried,
  },
  {
    breaks: "76",
    what: "takes late input in silence",
    ...startedWith((process) => ({
      write: async (bytes) => process.write(bytes).catch(() => undefined),
    })),
  },
  {
    breaks: "76b",
    what: "forgets what a command wrote before",
    sandbox: (sandbox) => ({ attach: (id) => sandbox.attach(id) }),
  },
  {
    breaks: "76c",
    what: "kills whatever the signal",
    ...startedWith((process) => ({ kill: () => process.kill("SIGKILL") })),
  },
  { breaks: "77", what: "does not count what a command left", ...resultWith({ processesLeft: 0 }) },
];
