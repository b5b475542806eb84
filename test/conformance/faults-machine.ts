/** Faults of the machine: limits, the kernel's doors, the network, and what outlives a sandbox. */
import { Failure } from "../../src/core/errors.ts";
import type { Sandbox } from "../../src/core/sandbox.ts";
import { type FaultHooks, hurried, limitsWith, outputReplacing, outputWith, resultWith } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";
import { MIB, OPTIONS } from "./sandbox-parts.ts";

const LIMITS: readonly Fault[] = [
  { breaks: "7", what: "does not count what a fork bomb was refused", ...resultWith({ processLimitHits: 0 }) },
  { breaks: "8", what: "does not count refused forks", ...resultWith({ processLimitHits: 0 }) },
  { breaks: "10", what: "counts threads apart from processes", ...limitsWith({ processesMax: 1_000 }) },
  {
    breaks: "10b",
    what: "takes a full process limit for a missing program",
    result: (result) => ({ ...result, startError: result.startError && "not_found" }),
  },
  {
    breaks: "19",
    what: "tells a kill by the kernel as a signal",
    ...resultWith({ verdict: "signalled", oomKilled: false }),
  },
  {
    breaks: "20",
    what: "looks for a lack of memory only at the command itself",
    result: (result) => ({ ...result, oomKilled: result.verdict === "oom_killed" }),
  },
  {
    breaks: "22",
    what: "does not survive a lack of memory",
    result: async (result, { sandbox }) => {
      if (result.oomKilled) await sandbox.destroy();
      return result;
    },
  },
  { breaks: "23", what: "has more disk than memory", ...limitsWith({ diskBytes: 1_024 * MIB, shmBytes: 1_024 * MIB }) },
  {
    breaks: "24",
    what: "says of a failed write that it is done",
    files: () => ({ write: async () => ({ ok: true, value: null }) }),
  },
  { breaks: "25", what: "has no limit of files", ...outputReplacing(/^\d+/, "1000000") },
  { breaks: "25b", what: "has a limit of files that does not hold", ...outputReplacing(/^\d+/, "900000") },
  {
    breaks: "26",
    what: "reads the start of what is too large",
    files: () => ({ read: async () => ({ ok: true, value: new Uint8Array() }) }),
  },
  {
    breaks: "27",
    what: "lets a sandbox run out of memory for what the kernel remembers",
    ...resultWith({ oomKilled: true }),
  },
  { breaks: "29", what: "shows more cores than asked for", ...limitsWith({ cpus: 2 }) },
  { breaks: "30", what: "bounds no watchers", ...outputReplacing(/watchers \d+/, "watchers 128") },
  { breaks: "28", what: "gives more processor than asked for", ...limitsWith({ cpus: 2 }) },
  { breaks: "79", what: "gives no more time", sandbox: () => ({ extend: async () => undefined }) },
  { breaks: "31", what: "gives /dev/shm the size of the disk", ...limitsWith({ shmBytes: 16 * MIB }) },
  { breaks: "72", what: "takes any image for its own", request: (request) => ({ ...request, image: "host" }) },
  {
    breaks: "72b",
    what: "does not heed a cancelled creation",
    provider: (provider) => ({ create: (request) => provider.create(request, new AbortController().signal) }),
  },
];

const DOORS: readonly Fault[] = [
  { breaks: "12", what: "shows its agent", ...outputReplacing(/False/, "True") },
  { breaks: "12b", what: "lets its agent be slowed down", ...outputReplacing(/^$/, "policy\n") },
  {
    breaks: "46",
    what: "lets system folders be written",
    result: (result, { command }) => (String(command).startsWith("echo x >") ? { ...result, exitCode: 0 } : result),
  },
  { breaks: "48a", what: "lets root make namespaces", ...outputWith("unshare 0 0\n") },
  { breaks: "48b", what: "lets a user make namespaces", ...outputWith("unshare 0 0\n") },
  { breaks: "47b", what: "runs a setuid program as its owner", ...outputReplacing(/^1000/, "0") },
  {
    breaks: "48d",
    what: "has no strict profile",
    request: (request) => ({ ...request, seccomp: "default" as const }),
  },
  {
    breaks: "49",
    what: "lets programs for 32 bits call the kernel",
    ...resultWith({ stdout: Buffer.from("reached\n") }),
  },
  { breaks: "50", what: "lets a terminal take pushed characters", ...outputWith("/dev/tty takes TIOCSTI\n") },
  { breaks: "48c", what: "leaves root a capability too many", ...outputReplacing(/4fb/g, "4fff") },
  { breaks: "51", what: "shows a raw device", ...outputWith("sda\n") },
  { breaks: "52", what: "shows a control group", ...outputWith("/sys/fs/cgroup/cgroup.procs\n") },
  { breaks: "52b", what: "lets a program mount control groups", ...outputWith("mounted b'cgroup2'\n") },
  {
    breaks: "54",
    what: "inherits the host's environment",
    request: (request) => ({ ...request, envVars: { USER: "host" } }),
  },
];

/** Its own destroy reads as a broken connection. */
const losing: FaultHooks = {
  sandbox: (sandbox) => ({
    exec: (command, options) =>
      sandbox.exec(command, options).catch((cause: unknown) => {
        throw new Failure("sandbox_lost", "The connection ended.", { cause });
      }),
  }),
};

const ENDS: readonly Fault[] = [
  { breaks: "56", what: "lends one machine twice", ...sharing() },
  { breaks: "58", what: "lends a used machine again", ...sharing() },
  { breaks: "60", what: "forgets to destroy one", ...forgettingOne() },
  { breaks: "61", what: "takes its own end for the machine's", ...losing },
  { breaks: "61b", what: "takes its own end for the machine's", ...losing },
  { breaks: "62", what: "throws at a second destroy", ...throwingAtSecondDestroy() },
  {
    breaks: "62b",
    what: "says of what is gone that it was just destroyed",
    provider: (provider) => ({
      destroy: async (id) => {
        await provider.destroy(id);
        return "destroyed";
      },
    }),
  },
  {
    breaks: "64",
    what: "makes two machines for one claim",
    provider: (provider) => ({
      create: async (request, signal) => {
        await provider.create(request, signal);
        return provider.create(request, signal);
      },
    }),
  },
  { breaks: "73", what: "freezes nothing", ...hurried, sandbox: () => ({ freeze: async () => undefined }) },
];

/** Every sandbox is the first one. */
function sharing(): FaultHooks {
  let shared: Sandbox | null = null;
  return {
    ...hurried,
    provider: (provider) => ({
      create: async (request, signal) => {
        shared ??= await provider.create(request, signal);
        await shared.exec("kill -9 -1", { ...OPTIONS, timeoutMs: 1_500 });
        return { ...shared, destroy: async () => undefined };
      },
      close: () => provider.close(),
    }),
  };
}

/** Its first sandbox is never destroyed. */
function forgettingOne(): FaultHooks {
  let made = 0;
  return {
    sandbox: ({ destroy }) => {
      made += 1;
      return made === 1 ? { destroy: async () => undefined } : { destroy };
    },
  };
}

function throwingAtSecondDestroy(): FaultHooks {
  return {
    sandbox: (sandbox) => {
      let isDestroyed = false;
      return {
        destroy: async () => {
          if (isDestroyed) throw new Failure("sandbox_destroyed", "It is destroyed already.");
          isDestroyed = true;
          await sandbox.destroy();
        },
      };
    },
  };
}

export const FAULTS_OF_MACHINE: readonly Fault[] = [...LIMITS, ...DOORS, ...ENDS];
