/** One live sandbox of the namespace provider, seen from this process: the Sandbox contract over an agent connection. */
import { Failure } from "../core/errors.ts";
import type { Sandbox, SandboxInfo, SandboxStats } from "../core/sandbox.ts";
import { FRAME } from "./frames.ts";
import { type CommandContext, startCommand } from "./run-command.ts";
import { sandboxFiles } from "./sandbox-files.ts";
import { keptShell } from "./sandbox-shell.ts";

/** Longer timers would fire at once; 24 days is long enough for any sandbox. */
const TIMER_MS_MAX = 2_147_483_647;
const NO_COUNTER = 0xffff_ffff_ffff_ffffn;

export function namespaceSandbox(info: SandboxInfo, context: CommandContext, lifetimeMs: number): Sandbox {
  const { client, runtime } = context;
  let isFrozen = false;
  const destroy = async (): Promise<void> => {
    cancelLifetime();
    client.markDestroyed();
    context.kill();
    await client.gone;
  };
  const cancelLifetime = runtime.timer(Math.min(lifetimeMs, TIMER_MS_MAX), () => void destroy());
  void client.gone.then(cancelLifetime);
  const refuseFrozen = (): void => {
    if (client.failure !== null) throw client.failure;
    if (isFrozen) throw new Failure("sandbox_busy", `Sandbox ${info.id} is frozen; only its files can be read.`);
  };
  return {
    id: info.id,
    info,
    exec: async (command, options) => {
      refuseFrozen();
      return startCommand(context, command, options).result;
    },
    start: async (command, options) => {
      refuseFrozen();
      return startCommand(context, command, options);
    },
    shell: async (options) => {
      refuseFrozen();
      const shell = keptShell(context, options);
      return {
        run: async (command, runOptions) => {
          refuseFrozen();
          return shell.run(command, runOptions);
        },
        close: () => shell.close(),
      };
    },
    files: sandboxFiles(context),
    stats: async () => decodeStats(await client.ask(FRAME.stats)),
    freeze: async () => {
      isFrozen = true;
      await client.ask(FRAME.freeze);
    },
    destroy,
  };
}

function decodeStats(payload: Buffer): SandboxStats {
  const counter = (index: number): number | null => {
    const value = payload.readBigUInt64LE(index * 8);
    return value === NO_COUNTER ? null : Number(value);
  };
  const cpuUs = counter(0);
  return {
    cpuMs: cpuUs === null ? null : cpuUs / 1000,
    memoryBytes: counter(1),
    memoryPeakBytes: counter(2),
    diskBytes: counter(3),
    processes: counter(4),
    oomKills: counter(5),
  };
}
