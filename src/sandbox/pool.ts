/**
 * Lends fresh sandboxes. Per shape it keeps as many ready ones as recent claims are worth; a claim takes a ready one,
 * else waits for one that is being made. A used sandbox is destroyed, never lent again. Lent ones never exceed the
 * ceiling, waiters are served by priority and then first in, first out.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import type { ClaimOptions, ClaimPath, PoolShape, SandboxLease, SandboxPool } from "../core/sandbox-pool.ts";
import { hostMemory } from "./host-memory.ts";
import { latencyRing } from "./latency-ring.ts";
import { type Admission, admission, type MemoryState } from "./pool-admission.ts";
import { keepAwake } from "./pool-awake.ts";
import { type PoolEndings, poolEndings } from "./pool-endings.ts";
import { poolShelf } from "./pool-shelf.ts";

const COOL_DOWN_MS = 30_000;
const SWEEP_MS = 60_000;
/** A lent sandbox that nobody used for this long was forgotten, unless its request says otherwise. */
const IDLE_MS = 3_600_000;

export interface SandboxPoolOptions {
  readonly provider: SandboxProvider;
  readonly runtime: Runtime;
  /** Sandboxes lent at one time; further claims wait. */
  readonly lentMax: number;
  /** Creations under way at one time. */
  readonly creatingMax: number;
  /** Ready sandboxes kept at most, over all shapes; 0 makes each one when it is claimed. */
  readonly readyMax: number;
  /** A shape without claims for this long keeps no ready ones; default 30,000. */
  readonly coolDownMs?: number;
  /** Memory that all lent sandboxes may be promised together; default the machine's. */
  readonly memoryBytes?: number;
  /** How often one byte may be promised; default 1. */
  readonly overcommit?: number;
  /** Look for orphans each minute; only for a pool that alone makes sandboxes of its provider. Default false. */
  readonly isSoleUser?: boolean;
  /** Where to read the machine's memory; default its kernel. */
  readonly memory?: () => MemoryState;
}

export function sandboxPool(options: SandboxPoolOptions): SandboxPool {
  const { runtime, provider, overcommit = 1, memory = hostMemory } = options;
  const bytesMax = options.memoryBytes ?? memory().totalBytes;
  const places = admission({ runtime, max: options.lentMax, bytesMax, memory });
  const endings = poolEndings(runtime, provider);
  const { coolDownMs = COOL_DOWN_MS } = options;
  const shelf = poolShelf({ ...options, coolDownMs, endings, isShort: places.isShort });
  const awake = keepAwake(runtime);
  const claimed = latencyRing();
  let forked = 0;
  const claimsByPath = { ready: 0, cold: 0 };
  const draining = new AbortController();
  const refuseDraining = (): void => {
    if (draining.signal.aborted) throw new Failure("sandbox_unavailable", "The sandbox pool is draining.");
  };
  const bytesOf = ({ limits }: SandboxRequest): number =>
    (limits.memoryBytes + limits.diskBytes + limits.shmBytes) / overcommit;

  const trackFork = (id: string): void => {
    forked += 1;
    endings.track(id);
  };

  const claim = async (
    asked: SandboxRequest,
    signal: AbortSignal,
    { priority = 0 }: ClaimOptions = {},
  ): Promise<SandboxLease> => {
    refuseDraining();
    const request = { idleMs: IDLE_MS, ...asked };
    const startedAt = runtime.monotonic();
    shelf.arrived(request);
    const release = await awake(() => places.take(bytesOf(request), priority, signal));
    try {
      refuseDraining();
      const { sandbox, path } = await awake(() => shelf.take(request, priority, signal));
      claimed.add(runtime.monotonic() - startedAt);
      claimsByPath[path] += 1;
      return lend(
        { places, track: trackFork, destroy: endings.destroy, bytes: bytesOf(request) },
        sandbox,
        request,
        path,
        release,
      );
    } catch (error) {
      release();
      throw error;
    }
  };
  if (options.isSoleUser === true) sweepLater(runtime, endings, draining.signal);
  return {
    claim,
    withSandbox: async (request, signal, use) => {
      await using sandbox = await claim(request, signal);
      return await use(sandbox);
    },
    prewarm: async (shape, count) => {
      refuseDraining();
      if (!Number.isInteger(count) || count < 0)
        throw new Failure(
          "request_invalid",
          `Ready sandboxes are asked for by a whole number, 0 or more, not ${count}.`,
        );
      await awake(() => shelf.prewarm(requestOf(shape), count));
    },
    stats: () => {
      const [made, ended] = [shelf.stats(), endings.stats()];
      return {
        ...made,
        ...ended,
        created: made.created + forked,
        quarantined: ended.quarantined + shelf.setAside(),
        lent: places.taken(),
        waiting: places.waiting() + shelf.waiting(),
        claimsByPath: { ...claimsByPath },
        claim: claimed.stats(),
      };
    },
    drain: async () => {
      draining.abort();
      await shelf.clear();
      await places.idle();
      await endings.idle();
    },
  };
}

function sweepLater(runtime: Runtime, endings: PoolEndings, draining: AbortSignal): void {
  runtime.timer(SWEEP_MS, () => {
    if (draining.aborted) return;
    void endings
      .sweepOrphans()
      .catch(() => 0) // a provider that cannot list now is asked again
      .then(() => sweepLater(runtime, endings, draining));
  });
}

/** A request for a sandbox nobody has claimed yet. */
function requestOf(shape: PoolShape): SandboxRequest {
  const lifetimeMs = 24 * 3_600_000;
  return {
    ...shape,
    attemptId: "ready",
    role: "agent",
    fence: 0,
    network: { mode: "off" },
    envVars: {},
    labels: {},
    lifetimeMs,
  };
}

interface Lending {
  readonly places: Admission;
  readonly track: (id: string) => void;
  readonly destroy: (sandbox: Sandbox) => Promise<void>;
  /** Memory one such sandbox is promised. */
  readonly bytes: number;
}

/** The same sandbox, whose first `destroy` also gives the place in the pool back. */
function lend(
  lending: Lending,
  sandbox: Sandbox,
  request: SandboxRequest,
  claimPath: ClaimPath,
  release: () => void,
): SandboxLease {
  let ending: Promise<void> | null = null;
  const { attemptId, role, fence } = request;
  const destroy = (): Promise<void> => {
    ending ??= lending.destroy(sandbox).finally(release);
    return ending;
  };
  return {
    ...sandbox,
    claimPath,
    /* A ready one was made before anyone knew who would use it. */
    info: { ...sandbox.info, labels: { ...request.labels, attemptId, role, fence: String(fence) } },
    /* Forks live in the pool as their source does. They never wait: a fork that waited for its own source would never end. */
    fork: async (count, options) => {
      const releases = lending.places.tryTake(count, lending.bytes);
      if (releases === null) {
        const message = `The pool has no room for ${count} forks; destroy others first, or raise sandbox.lentMax.`;
        throw new Failure("sandbox_unavailable", message);
      }
      try {
        const forks = await sandbox.fork(count, options);
        for (const { id } of forks) lending.track(id);
        return forks.map((fork, index) => lend(lending, fork, request, "cold", releases[index] ?? (() => undefined)));
      } catch (error) {
        for (const each of releases) each();
        throw toFailure(error);
      }
    },
    destroy,
    [Symbol.asyncDispose]: destroy,
  };
}
