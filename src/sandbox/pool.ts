/**
 * Lends fresh sandboxes. Per shape (image, limits, network, isolation) it may keep some ready ones; a claim takes a ready
 * one, else makes one. A used sandbox is destroyed, never lent again. Live and creating never exceed the ceiling;
 * waiters are served first in, first out.
 */
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import type { SandboxPool, SandboxPoolStats } from "../core/sandbox-pool.ts";
import { readyShelf } from "./ready-shelf.ts";

/** Tries of one claim at a provider that says `sandbox_unavailable`, with a growing pause between them. */
const TRIES_MAX = 4;
const BACK_OFF_MS = 50;

export interface SandboxPoolOptions {
  readonly provider: SandboxProvider;
  readonly runtime: Runtime;
  /** Sandboxes lent at one time; further claims wait. */
  readonly lentMax: number;
  /** Creations under way at one time. */
  readonly creatingMax: number;
  /** Ready sandboxes kept per shape seen; 0 makes each one when it is claimed. */
  readonly readyMax: number;
}

export function sandboxPool(options: SandboxPoolOptions): SandboxPool {
  const { runtime, lentMax, creatingMax, readyMax } = options;
  const lendings = semaphore(lentMax);
  const creations = semaphore(creatingMax);
  const draining = new AbortController();
  const counts = { created: 0, destroyed: 0, failed: 0 };

  const destroy = async (sandbox: Sandbox): Promise<void> => {
    await sandbox.destroy();
    counts.destroyed += 1;
  };
  const create = (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> =>
    createWithBackOff(options, creations, counts, request, signal);
  const shelf = readyShelf({ runtime, readyMax, create, destroy });
  const claim = async (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> => {
    if (draining.signal.aborted) throw new Failure("sandbox_unavailable", "The sandbox pool is draining.");
    const release = await lendings.take(signal);
    try {
      const sandbox = (await shelf.take(request)) ?? (await create(request, signal));
      shelf.refill(request);
      return lent(sandbox, request, destroy, release);
    } catch (error) {
      release();
      throw error;
    }
  };
  return {
    claim,
    withSandbox: async (request, signal, use) => {
      const sandbox = await claim(request, signal);
      try {
        return await use(sandbox);
      } finally {
        await sandbox.destroy();
      }
    },
    stats: (): SandboxPoolStats => ({
      ready: shelf.count(),
      creating: creations.taken(),
      lent: lendings.taken(),
      ...counts,
    }),
    drain: async () => {
      draining.abort();
      await shelf.clear();
      await creations.idle();
      await lendings.idle();
    },
  };
}

async function createWithBackOff(
  { provider, runtime }: SandboxPoolOptions,
  creations: Semaphore,
  counts: { created: number; failed: number },
  request: SandboxRequest,
  signal: AbortSignal,
): Promise<Sandbox> {
  for (let tries = 1; ; tries += 1) {
    const release = await creations.take(signal);
    try {
      const sandbox = await provider.create(request, signal);
      counts.created += 1;
      return sandbox;
    } catch (error) {
      counts.failed += 1;
      const mayRetry = error instanceof Failure && error.code === "sandbox_unavailable" && tries < TRIES_MAX;
      if (!mayRetry) throw error;
    } finally {
      release();
    }
    /* Random parts keep many waiters from coming back at the same moment. */
    const jitter = (runtime.randomBytes(1)[0] ?? 0) / 255;
    await runtime.sleep(BACK_OFF_MS * 2 ** tries * (0.5 + jitter), signal);
  }
}

/** The same sandbox, whose first `destroy` also gives the place in the pool back. */
function lent(
  sandbox: Sandbox,
  request: SandboxRequest,
  destroy: (sandbox: Sandbox) => Promise<void>,
  release: () => void,
): Sandbox {
  let ending: Promise<void> | null = null;
  const { attemptId, role, fence } = request;
  return {
    ...sandbox,
    /* A ready one was made before anyone knew who would use it. */
    info: { ...sandbox.info, labels: { ...request.labels, attemptId, role, fence: String(fence) } },
    destroy: () => {
      ending ??= destroy(sandbox).finally(release);
      return ending;
    },
  };
}

interface Semaphore {
  /** Resolves with the function that gives the place back. Rejects with `cancelled` when `signal` aborts first. */
  take(signal: AbortSignal): Promise<() => void>;
  taken(): number;
  /** Resolves when no place is taken. */
  idle(): Promise<void>;
}

function semaphore(max: number): Semaphore {
  let taken = 0;
  const waiters = new Set<() => void>();
  const idlers: (() => void)[] = [];
  const release = (): void => {
    taken -= 1;
    const next = waiters.values().next();
    if (!next.done) next.value();
    else if (taken === 0) for (const resolve of idlers.splice(0)) resolve();
  };
  const once = (): (() => void) => {
    let isReleased = false;
    return () => {
      if (!isReleased) release();
      isReleased = true;
    };
  };
  return {
    take: (signal) =>
      new Promise((resolve, reject) => {
        const cancelled = (): Failure =>
          new Failure("cancelled", "The wait for a sandbox was cancelled.", { cause: signal.reason });
        if (signal.aborted) {
          reject(cancelled());
          return;
        }
        const enter = (): void => {
          waiters.delete(enter);
          signal.removeEventListener("abort", abort);
          taken += 1;
          resolve(once());
        };
        const abort = (): void => {
          waiters.delete(enter);
          reject(cancelled());
        };
        if (taken < max && waiters.size === 0) {
          enter();
          return;
        }
        waiters.add(enter);
        signal.addEventListener("abort", abort, { once: true });
      }),
    taken: () => taken,
    idle: () => (taken === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
  };
}
