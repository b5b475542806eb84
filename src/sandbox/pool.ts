/**
 * Lends fresh sandboxes. Per shape (image, limits, network, isolation) it may keep some ready ones; a claim takes a ready
 * one, else makes one. A used sandbox is destroyed, never lent again. Live and creating never exceed the ceiling;
 * waiters are served first in, first out.
 */
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxPool, SandboxPoolStats, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";

/** Attempts of one claim at a provider that says `sandbox_unavailable`, with a growing pause between them. */
const ATTEMPTS_MAX = 4;
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

interface Shape {
  /** The request ready sandboxes are made with; variables and labels of a claim differ only in what is refused below. */
  readonly request: SandboxRequest;
  readonly ready: Sandbox[];
  isRefilling: boolean;
}

export function sandboxPool(options: SandboxPoolOptions): SandboxPool {
  const { lentMax, creatingMax, readyMax } = options;
  const lendings = semaphore(lentMax);
  const creations = semaphore(creatingMax);
  const shapes = new Map<string, Shape>();
  const draining = new AbortController();
  const counts = { created: 0, destroyed: 0, failed: 0 };

  const destroy = async (sandbox: Sandbox): Promise<void> => {
    await sandbox.destroy();
    counts.destroyed += 1;
  };
  const create = (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> =>
    createWithBackOff(options, creations, counts, request, signal);
  const refill = async (shape: Shape): Promise<void> => {
    if (shape.isRefilling) return;
    shape.isRefilling = true;
    try {
      while (shape.ready.length < readyMax && !draining.signal.aborted) {
        const sandbox = await create(shape.request, draining.signal);
        if (draining.signal.aborted) await destroy(sandbox);
        else shape.ready.push(sandbox);
      }
    } catch {
      /* Counted as failed; the next claim makes its own and is told why that failed. */
    } finally {
      shape.isRefilling = false;
    }
  };
  const takeReady = async (shape: Shape): Promise<Sandbox | null> => {
    for (let sandbox = shape.ready.shift(); sandbox !== undefined; sandbox = shape.ready.shift()) {
      const isAlive = await sandbox.stats().then(
        () => true,
        () => false,
      );
      if (isAlive) return sandbox;
      await destroy(sandbox);
    }
    return null;
  };
  const obtain = async (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> => {
    if (readyMax === 0) return create(request, signal);
    const key = shapeKey(request);
    const shape = shapes.get(key) ?? { request, ready: [], isRefilling: false };
    shapes.set(key, shape);
    const sandbox = (await takeReady(shape)) ?? (await create(request, signal));
    void refill(shape);
    return sandbox;
  };
  const claim = async (request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> => {
    if (draining.signal.aborted) throw new Failure("sandbox_unavailable", "The sandbox pool is draining.");
    const release = await lendings.take(signal);
    try {
      return lent(await obtain(request, signal), destroy, release);
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
      ready: [...shapes.values()].reduce((sum, shape) => sum + shape.ready.length, 0),
      creating: creations.taken(),
      lent: lendings.taken(),
      ...counts,
    }),
    drain: async () => {
      draining.abort();
      await creations.idle();
      await Promise.all([...shapes.values()].flatMap((shape) => shape.ready.splice(0)).map(destroy));
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
  for (let attempt = 1; ; attempt += 1) {
    const release = await creations.take(signal);
    try {
      const sandbox = await provider.create(request, signal);
      counts.created += 1;
      return sandbox;
    } catch (error) {
      counts.failed += 1;
      const mayRetry = error instanceof Failure && error.code === "sandbox_unavailable" && attempt < ATTEMPTS_MAX;
      if (!mayRetry) throw error;
    } finally {
      release();
    }
    /* Random parts keep many waiters from coming back at the same moment. */
    const jitter = (runtime.randomBytes(1)[0] ?? 0) / 255;
    await runtime.sleep(BACK_OFF_MS * 2 ** attempt * (0.5 + jitter), signal);
  }
}

/** What must be equal for a ready sandbox to serve a claim. Commands get their variables from the request it was made with. */
function shapeKey(request: SandboxRequest): string {
  const { image, limits, network, isolationMin, envVars, lifetimeMs } = request;
  return JSON.stringify([image, limits, network, isolationMin, envVars, lifetimeMs]);
}

/** The same sandbox, whose first `destroy` also gives the place in the pool back. */
function lent(sandbox: Sandbox, destroy: (sandbox: Sandbox) => Promise<void>, release: () => void): Sandbox {
  let ending: Promise<void> | null = null;
  return {
    ...sandbox,
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
