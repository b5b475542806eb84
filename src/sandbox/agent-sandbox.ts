/**
 * One live sandbox seen from this process: the Sandbox contract over an agent connection, whatever made the machine.
 * Each method is its owner's function, admitted by the sandbox's life. `context.client` is read at each call, because a
 * renewal puts a fresh machine behind the same handle.
 */
import { Failure } from "../core/errors.ts";
import type {
  NetworkLog,
  NetworkPolicy,
  ResetReport,
  Sandbox,
  SandboxInfo,
  SandboxTrace,
  Snapshot,
  SnapshotOptions,
} from "../core/sandbox.ts";
import { decodeStats } from "./agent-stats.ts";
import type { CommandContext } from "./command-context.ts";
import { FRAME } from "./frames.ts";
import { attachCommand } from "./kept-commands.ts";
import { listProcesses } from "./process-list.ts";
import type { NetworkControl } from "./proxy/network-control.ts";
import { execCommand, startKeptCommand } from "./run-command.ts";
import { exportLayer, sandboxDiff } from "./sandbox-diff.ts";
import { sandboxFiles } from "./sandbox-files.ts";
import { type SandboxLife, sandboxLife } from "./sandbox-life.ts";
import { keptShell } from "./sandbox-shell.ts";

/** What gives a handle other machines: sealed layers, forks, and a fresh machine in the old one's place. */
export interface Renewal {
  /** After it `context.client` may be another one. */
  snapshot(options: SnapshotOptions): Promise<Snapshot>;
  /** After it `context.client` may be another one. */
  fork(count: number, options: SnapshotOptions): Promise<readonly Sandbox[]>;
  /** After it `context.client` is another one. Throws `not_found` for a snapshot it does not know. */
  reset(snapshotId: string | undefined): Promise<ResetReport>;
}

/** What a provider gives to make a handle of its machine. */
export interface AgentSandboxOptions {
  readonly info: SandboxInfo;
  /** Of a renewable sandbox `client` and `kill` are those of the machine that serves now. */
  readonly context: CommandContext;
  readonly lifetimeMs: number;
  /** Ends the sandbox when no call was open or made for this long; absent: never before its lifetime. */
  readonly idleMs?: number;
  /** Without it `snapshot`, `fork` and `reset` throw `unsupported`. */
  readonly renewal?: Renewal;
  /** Without it `setNetwork` throws `unsupported` unless the mode stays, and `networkLog` is empty. */
  readonly networkControl?: Pick<NetworkControl, "set" | "log">;
  /** Told of a new lifetime, for whoever else ends the sandbox at the old one. */
  readonly onExtended?: (lifetimeMs: number) => void;
  /** Absent where the provider has no recorder. */
  readonly trace?: (watched: readonly string[]) => Promise<SandboxTrace | null>;
}

const EMPTY_LOG: NetworkLog = { attempts: [], attemptsDropped: 0, allowed: 0, refused: 0, bytesIn: 0, bytesOut: 0 };

/** The handle of a live machine; its life begins here. */
export function agentSandbox(options: AgentSandboxOptions): Sandbox {
  return agentSandboxWith(sandboxLife(options), options);
}

/** The same with a life its maker keeps hold of. */
export function agentSandboxWith(life: SandboxLife, options: AgentSandboxOptions): Sandbox {
  const { info, context, trace } = options;
  const traced = trace === undefined ? {} : { trace: tracedBy(life, trace) };
  return {
    id: info.id,
    info,
    ...commandMethods(life, context),
    ...fileMethods(life, options),
    ...renewalMethods(life, options),
    ...traced,
    setNetwork: (policy) => setNetwork(life, options, policy),
    networkLog: () => options.networkControl?.log() ?? EMPTY_LOG,
    stats: async () => {
      life.refuseEnded();
      /* Whoever only watches does not use it: a curve sampled each second must not keep a forgotten sandbox alive. */
      return decodeStats(await context.client.ask(FRAME.stats));
    },
    extend: async (lifetimeMs) => {
      if (!(lifetimeMs > 0 && Number.isFinite(lifetimeMs)))
        throw new Failure("request_invalid", `lifetimeMs must be positive, not ${lifetimeMs}.`);
      life.extend(lifetimeMs);
      options.onExtended?.(lifetimeMs);
    },
    freeze: async () => {
      life.refuseEnded();
      life.setFrozen(true);
      await life.track(() => context.client.ask(FRAME.freeze));
    },
    destroy: () => life.end("was destroyed"),
  };
}

function tracedBy(life: SandboxLife, trace: NonNullable<Sandbox["trace"]>): NonNullable<Sandbox["trace"]> {
  return async (watched) => {
    life.refuseEnded();
    return life.track(() => trace(watched));
  };
}

function notOffered(what: string, info: SandboxInfo): Failure {
  return new Failure("unsupported", `The ${info.provider} provider does not offer ${what}.`);
}

type CommandMethods = Pick<Sandbox, "exec" | "start" | "shell" | "attach" | "processes">;

function commandMethods(life: SandboxLife, context: CommandContext): CommandMethods {
  return {
    exec: async (command, options) => {
      life.refuseFrozen();
      return life.track(() => execCommand(context, command, options));
    },
    start: async (command, options) => {
      life.refuseFrozen();
      const process = startKeptCommand(context, command, options);
      void life.track(() => process.result).catch(() => undefined);
      return process;
    },
    shell: async (options) => {
      life.refuseFrozen();
      const shell = keptShell(context, options);
      return {
        run: async (command, runOptions) => {
          life.refuseFrozen();
          return life.track(() => shell.run(command, runOptions));
        },
        close: () => shell.close(),
      };
    },
    attach: async (id, onOutput) => {
      life.refuseFrozen();
      return attachCommand(context, id, onOutput);
    },
    processes: async () => {
      life.refuseEnded();
      return life.track(() => listProcesses(context));
    },
  };
}

type FileMethods = Pick<Sandbox, "files" | "diff" | "exportLayer">;

function fileMethods(life: SandboxLife, { context }: AgentSandboxOptions): FileMethods {
  return {
    files: life.trackAll(sandboxFiles(context), life.refuseEnded),
    diff: async (options) => {
      life.refuseEnded();
      return life.track(() => sandboxDiff(context, options?.entriesMax));
    },
    exportLayer: () => {
      life.refuseEnded();
      return tracked(life, exportLayer(context));
    },
  };
}

/** A stream counts as a call while it is read. */
async function* tracked(life: SandboxLife, stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const open = life.track(() => promise);
  try {
    yield* stream;
  } finally {
    resolve();
    await open;
  }
}

type RenewalMethods = Pick<Sandbox, "snapshot" | "fork" | "reset">;

function renewalMethods(life: SandboxLife, { renewal, info }: AgentSandboxOptions): RenewalMethods {
  const renewed = async <T>(what: string, work: (renewal: Renewal) => Promise<T>): Promise<T> => {
    if (renewal === undefined) throw notOffered(what, info);
    return life.renew(() => work(renewal));
  };
  return {
    snapshot: (options = {}) => renewed("snapshot", (by) => by.snapshot(options)),
    fork: (count, options = {}) => renewed("fork", (by) => by.fork(count, options)),
    reset: async (snapshotId) => {
      const report = await renewed("reset", (by) => by.reset(snapshotId));
      life.setFrozen(false);
      return report;
    },
  };
}

async function setNetwork(life: SandboxLife, options: AgentSandboxOptions, policy: NetworkPolicy): Promise<void> {
  const { info, networkControl } = options;
  life.refuseEnded();
  if (networkControl !== undefined) await life.track(() => networkControl.set(policy));
  else if (policy.mode !== info.network) throw notOffered(`a change from network mode "${info.network}"`, info);
}
