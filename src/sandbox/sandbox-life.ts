/**
 * The life of one sandbox as its handle sees it: running, being renewed, frozen, ended. It ends the sandbox at its
 * lifetime, when idle too long or on demand, and says why to every later call.
 */
import { Failure } from "../core/errors.ts";
import type { SandboxInfo } from "../core/sandbox.ts";
import type { CommandContext } from "./command-context.ts";
import { type IdleWatch, idleWatch } from "./idle-watch.ts";

/** Longer timers would fire at once; 24 days is long enough for any sandbox. */
const TIMER_MS_MAX = 2_147_483_647;

/** Whose life, and how long it may be. */
export interface SandboxLifeOptions {
  readonly info: SandboxInfo;
  /** `client` is read anew each time: a renewal puts a fresh machine behind the same handle. */
  readonly context: CommandContext;
  readonly lifetimeMs: number;
  readonly idleMs?: number;
  /** Called once, when the machine has ended; the sandbox's end waits for it. */
  readonly onGone?: () => Promise<void>;
}

/** Says which calls a sandbox admits now. */
export interface SandboxLife {
  readonly track: IdleWatch["track"];
  readonly trackAll: IdleWatch["trackAll"];
  /** Throws the failure that says why no call can be made. */
  refuseEnded(): void;
  /** Also throws `sandbox_busy` when the sandbox is frozen. */
  refuseFrozen(): void;
  setFrozen(isFrozen: boolean): void;
  /** Begins the lifetime and idle time anew, for a new user of the sandbox. */
  restart(lifetimeMs: number, idleMs: number | undefined): void;
  /** Begins the lifetime anew; the idle time goes on. */
  extend(lifetimeMs: number): void;
  /** Runs `work`, after which `context.client` may be another one; calls made meanwhile throw `sandbox_busy`. */
  renew<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when nothing of the sandbox is left. `why` completes "Sandbox ID …". Idempotent. */
  end(why: string): Promise<void>;
}

/** Its clocks run from here on. */
export function sandboxLife(options: SandboxLifeOptions): SandboxLife {
  const { info, context } = options;
  const { runtime } = context;
  let isFrozen = false;
  let renewing: Promise<unknown> | null = null;
  let ended: Failure | null = null;

  let going: Promise<void> | null = null;
  let cancelLifetime = (): void => undefined;
  const tellGone = (): Promise<void> => {
    cancelLifetime();
    idle.stop();
    going ??= options.onGone?.() ?? Promise.resolve();
    return going;
  };
  const end = async (why: string): Promise<void> => {
    ended ??= new Failure("sandbox_destroyed", `Sandbox ${info.id} ${why}.`);
    /* A renewal under way may bring one more machine; it goes the same way. */
    for (let client = null; client !== context.client; await renewing?.catch(() => undefined)) {
      client = context.client;
      client.markDestroyed(ended);
      context.kill();
      await client.gone;
    }
    await tellGone();
  };
  const startLifetime = (lifetimeMs: number): void => {
    cancelLifetime();
    const why = `was destroyed: its lifetime of ${lifetimeMs} ms had passed`;
    cancelLifetime = runtime.timer(Math.min(lifetimeMs, TIMER_MS_MAX), () => void end(why));
  };
  let idleMs = options.idleMs;
  const idle = idleWatch(runtime, idleMs, () => void end(`was destroyed: no call was open or made for ${idleMs} ms`));
  startLifetime(options.lifetimeMs);
  const watch = (): void => {
    const { client } = context;
    void client.gone.then(() => {
      if (renewing === null && client === context.client) void tellGone();
    });
  };
  watch();

  const refuseEnded = (): void => {
    if (ended !== null) throw ended;
    if (renewing !== null)
      throw new Failure("sandbox_busy", `Sandbox ${info.id} is being renewed (snapshot, fork or reset).`);
    if (context.client.failure !== null) throw context.client.failure;
  };
  return {
    track: idle.track,
    trackAll: idle.trackAll,
    refuseEnded,
    refuseFrozen: () => {
      refuseEnded();
      if (isFrozen) throw new Failure("sandbox_busy", `Sandbox ${info.id} is frozen; only its files can be read.`);
    },
    setFrozen: (value) => {
      isFrozen = value;
    },
    restart: (lifetimeMs, nextIdleMs) => {
      refuseEnded();
      idleMs = nextIdleMs;
      idle.restart(nextIdleMs);
      startLifetime(lifetimeMs);
    },
    extend: (lifetimeMs) => {
      refuseEnded();
      startLifetime(lifetimeMs);
    },
    renew: async (work) => {
      refuseEnded();
      const running = idle.track(work);
      renewing = running;
      try {
        return await running;
      } catch (error) {
        /* Its machine was given up and no other took its place. */
        if (context.client.failure !== null)
          ended ??= new Failure("sandbox_lost", `Sandbox ${info.id} was lost: its renewal failed (${String(error)}).`);
        throw error;
      } finally {
        renewing = null;
        watch();
      }
    },
    end,
  };
}
