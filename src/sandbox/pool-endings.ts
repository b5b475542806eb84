/**
 * How a pool ends sandboxes: each once, with the end confirmed. One whose end is not confirmed in time is set aside, keeps
 * its place, is asked for again with a growing pause, and is counted until it is gone.
 */
import { type Failure, toFailure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxProvider } from "../core/sandbox.ts";
import type { LatencyStats } from "../core/sandbox-pool.ts";
import { latencyRing } from "./latency-ring.ts";

/** An end that takes longer is not confirmed. */
const CONFIRM_MS = 2_000;
const AGAIN_MS_MAX = 60_000;
/** What nobody tracks for this long is an orphan; a creation is told at once, a fork within its call. */
const ORPHAN_MS = 10_000;

/** Ends of one pool's sandboxes. */
export interface PoolEndings {
  /** A sandbox is the pool's from now on, until it is destroyed. */
  track(id: string): void;
  /** Destroys what the provider has and nobody tracks. Gives their number. */
  sweepOrphans(): Promise<number>;
  /** Resolves when the sandbox is gone, however long that takes. */
  destroy(sandbox: Sandbox): Promise<void>;
  /** Resolves when all ends are confirmed. */
  idle(): Promise<void>;
  stats(): {
    readonly draining: number;
    readonly quarantined: number;
    readonly destroyed: number;
    readonly orphansDestroyed: number;
    readonly destroy: LatencyStats;
  };
}

/** `provider` is asked again for an end that its sandbox does not confirm. */
export function poolEndings(runtime: Runtime, provider: SandboxProvider): PoolEndings {
  const ending = new Set<Promise<void>>();
  const durations = latencyRing();
  let quarantined = 0;
  let destroyed = 0;
  let orphansDestroyed = 0;
  const tracked = new Set<string>();

  /** False when the end was not confirmed in time, or refused. */
  const confirm = async (work: Promise<unknown>): Promise<boolean> => {
    let cancel = (): void => undefined;
    const late = new Promise<boolean>((resolve) => {
      cancel = runtime.timer(CONFIRM_MS, () => resolve(false));
    });
    const done = work.then(
      () => true,
      (_cause: Failure) => false,
    );
    try {
      return await Promise.race([done, late]);
    } finally {
      cancel();
    }
  };
  const destroy = async (sandbox: Sandbox): Promise<void> => {
    const startedAt = runtime.monotonic();
    const first = sandbox.destroy();
    if (!(await confirm(first))) {
      quarantined += 1;
      let isGone = false;
      void first.then(
        () => (isGone = true),
        () => undefined,
      );
      for (let pauseMs = 100; !isGone; pauseMs = Math.min(AGAIN_MS_MAX, pauseMs * 2)) {
        await runtime.sleep(pauseMs);
        isGone = isGone || (await confirm(provider.destroy(sandbox.id)));
      }
      quarantined -= 1;
    }
    tracked.delete(sandbox.id);
    destroyed += 1;
    durations.add(runtime.monotonic() - startedAt);
  };
  return {
    track: (id) => tracked.add(id),
    sweepOrphans: async () => {
      /* Those being made are listed before their creation has been told to the pool. */
      const before = new Set((await provider.list()).map(({ id }) => id));
      await runtime.sleep(ORPHAN_MS);
      const orphans = (await provider.list()).filter(({ id }) => before.has(id) && !tracked.has(id));
      for (const { id } of orphans) if ((await provider.destroy(id)) === "destroyed") orphansDestroyed += 1;
      return orphans.length;
    },
    destroy: (sandbox) => {
      const work = destroy(sandbox)
        .catch((error: unknown) => {
          throw toFailure(error);
        })
        .finally(() => ending.delete(work));
      ending.add(work);
      return work;
    },
    idle: async () => {
      while (ending.size > 0) await Promise.allSettled(ending);
    },
    stats: () => ({ draining: ending.size, quarantined, destroyed, orphansDestroyed, destroy: durations.stats() }),
  };
}
