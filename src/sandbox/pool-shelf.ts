/**
 * The sandboxes of a pool that nobody uses yet: ready ones per shape, and those being made. One place decides what is
 * made next: first what claims wait for, then what recent demand is worth, never more at once than `creatingMax`. Claims
 * do not create for themselves, so a thousand of them cannot retry a thousand times.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import type { ClaimPath, SandboxPoolStats } from "../core/sandbox-pool.ts";
import { latencyRing } from "./latency-ring.ts";
import type { PoolEndings } from "./pool-endings.ts";
import { LOOK_MS, tidyReady } from "./pool-ready.ts";
import {
  enqueue,
  isSetAside,
  isUnused,
  newShape,
  noteFailure,
  noteSuccess,
  type Shape,
  type ShapeWaiter,
  shapeKey,
} from "./pool-shape.ts";

/** A ready one lives this much longer than was asked for, where the provider cannot adopt; it is not lent after as long. */
const READY_MS_MAX = 120_000;
/** Shapes remembered that nobody waits for and that hold nothing. */
const SHAPES_MAX = 64;

export interface PoolShelfOptions {
  readonly provider: SandboxProvider;
  readonly runtime: Runtime;
  readonly creatingMax: number;
  readonly readyMax: number;
  readonly coolDownMs: number;
  readonly endings: PoolEndings;
  /** True while no memory is left for ready ones. */
  readonly isShort: () => boolean;
}

export interface PoolShelf {
  /** Counts a claim towards the demand of its shape. */
  arrived(request: SandboxRequest): void;
  /** A ready sandbox, or the next one made. Rejects with `cancelled`, or with why none could be made. */
  take(
    request: SandboxRequest,
    priority: number,
    signal: AbortSignal,
  ): Promise<{ readonly sandbox: Sandbox; readonly path: ClaimPath }>;
  prewarm(request: SandboxRequest, count: number): Promise<void>;
  waiting(): number;
  /** Shapes whose creations kept failing. */
  setAside(): number;
  stats(): Pick<SandboxPoolStats, "ready" | "creating" | "target" | "created" | "failed" | "failuresByCode" | "create">;
  /** Destroys what is ready and makes no more. */
  clear(): Promise<void>;
}

export function poolShelf(options: PoolShelfOptions): PoolShelf {
  return new Shelf(options);
}

class Shelf implements PoolShelf {
  readonly #options: PoolShelfOptions;
  readonly #canAdopt: boolean;
  readonly #shapes = new Map<string, Shape>();
  readonly #creations = new Set<Promise<void>>();
  readonly #clearing = new AbortController();
  readonly #durations = latencyRing();
  readonly #failuresByCode: Record<string, number> = {};
  #created = 0;
  #failed = 0;
  #order = 0;
  #isTidying = false;
  #prewarming: { readonly shape: Shape; readonly count: number; readonly done: (error?: Failure) => void }[] = [];

  constructor(options: PoolShelfOptions) {
    this.#options = options;
    this.#canAdopt = options.provider.adopt !== undefined;
  }

  arrived(request: SandboxRequest): void {
    this.#shapeOf(request).demand.arrived();
  }

  async take(request: SandboxRequest, priority: number, signal: AbortSignal) {
    const shape = this.#shapeOf(request);
    for (let next = shape.ready.shift(); next !== undefined; next = shape.ready.shift()) {
      const isFresh = this.#canAdopt || this.#options.runtime.monotonic() - next.readyAtMs < READY_MS_MAX;
      const sandbox = isFresh ? await this.#adopt(next.sandbox, request) : null;
      if (sandbox !== null) {
        this.#pump();
        return { sandbox, path: "ready" as const };
      }
      void this.#options.endings.destroy(next.sandbox);
    }
    this.#refuseSetAside(shape);
    return this.#wait(shape, request, priority, signal);
  }

  async prewarm(request: SandboxRequest, count: number): Promise<void> {
    const { readyMax, provider } = this.#options;
    if (!this.#canAdopt)
      throw new Failure("unsupported", `Ready sandboxes of the ${provider.name} provider serve equal requests only.`);
    const shape = this.#shapeOf(request);
    const others = this.#floorsBeside(shape);
    if (others + count > readyMax) {
      const message = `${count} ready sandboxes were asked for beside ${others}; this pool keeps at most ${readyMax} (sandbox.readyMax).`;
      throw new Failure("request_invalid", message);
    }
    const before = shape.floor;
    shape.floor = count;
    return new Promise((resolve, reject) => {
      const done = (error?: Failure): void => {
        if (error !== undefined) shape.floor = before;
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#prewarming.push({ shape, count, done });
      this.#settlePrewarming();
      this.#tidy();
    });
  }

  setAside(): number {
    return this.#all().filter(isSetAside).length;
  }

  waiting(): number {
    return this.#all().reduce((sum, shape) => sum + shape.waiters.length, 0);
  }

  stats() {
    return {
      ready: this.#all().reduce((sum, shape) => sum + shape.ready.length, 0),
      creating: this.#creations.size,
      target: this.#all().reduce((sum, shape) => sum + this.#target(shape), 0),
      created: this.#created,
      failed: this.#failed,
      failuresByCode: { ...this.#failuresByCode },
      create: this.#durations.stats(),
    };
  }

  async clear(): Promise<void> {
    this.#clearing.abort();
    const over = new Failure("sandbox_unavailable", "The sandbox pool is draining.");
    for (const shape of this.#all()) for (const waiter of shape.waiters.splice(0)) waiter.reject(over);
    for (const { done } of this.#prewarming.splice(0)) done(over);
    await Promise.all(this.#creations);
    const ready = this.#all().flatMap((shape) => shape.ready.splice(0));
    await Promise.all(ready.map(({ sandbox }) => this.#options.endings.destroy(sandbox)));
  }

  #all(): readonly Shape[] {
    return [...this.#shapes.values()];
  }

  #shapeOf(request: SandboxRequest): Shape {
    const { runtime, coolDownMs } = this.#options;
    const key = shapeKey(request, this.#canAdopt);
    const shape = this.#shapes.get(key) ?? newShape(runtime, key, request, coolDownMs);
    this.#shapes.delete(key);
    this.#shapes.set(key, shape);
    if (this.#shapes.size > SHAPES_MAX) this.#forgetOldest();
    return shape;
  }

  /** The shape claimed longest ago that holds nothing and that nobody waits for. */
  #forgetOldest(): void {
    const oldest = this.#all().find(isUnused);
    if (oldest !== undefined) this.#shapes.delete(oldest.key);
  }

  /** The sandbox as the request wants it, or null when it died. */
  async #adopt(sandbox: Sandbox, request: SandboxRequest): Promise<Sandbox | null> {
    const { provider } = this.#options;
    try {
      if (provider.adopt !== undefined) return await provider.adopt(sandbox, request);
      await sandbox.stats();
      return sandbox;
    } catch (error) {
      this.#note(toFailure(error));
      return null;
    }
  }

  #note(failure: Failure): void {
    this.#failuresByCode[failure.code] = (this.#failuresByCode[failure.code] ?? 0) + 1;
  }

  #refuseSetAside(shape: Shape): void {
    const { runtime } = this.#options;
    const waitMs = shape.openAtMs - runtime.monotonic();
    if (!isSetAside(shape) || waitMs <= 0 || shape.lastFailure === null) return;
    const { code, message } = shape.lastFailure;
    throw new Failure(
      code,
      `Sandboxes on image "${shape.request.image}" are set aside for another ${Math.ceil(waitMs / 1_000)} s after ` +
        `${shape.failuresInRow} failures in a row. The last one: ${message}`,
      { cause: shape.lastFailure },
    );
  }

  #wait(
    shape: Shape,
    request: SandboxRequest,
    priority: number,
    signal: AbortSignal,
  ): Promise<{ readonly sandbox: Sandbox; readonly path: ClaimPath }> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const settle = (finish: () => void): boolean => {
        if (isOver) return false;
        isOver = true;
        signal.removeEventListener("abort", abort);
        const at = shape.waiters.indexOf(waiter);
        if (at >= 0) shape.waiters.splice(at, 1);
        finish();
        return true;
      };
      const cancelled = "The wait for a sandbox was cancelled.";
      const abort = (): boolean => settle(() => reject(new Failure("cancelled", cancelled, { cause: signal.reason })));
      const waiter: ShapeWaiter = {
        request,
        priority,
        order: this.#order++,
        resolve: (served) => settle(() => resolve(served)),
        reject: (error) => settle(() => reject(error)),
      };
      if (signal.aborted) return void abort();
      enqueue(shape, waiter);
      signal.addEventListener("abort", abort, { once: true });
      this.#pump();
    });
  }

  /** Ready sandboxes this shape should have now. */
  #target(shape: Shape): number {
    const { readyMax, isShort } = this.#options;
    if (this.#clearing.signal.aborted || readyMax === 0 || isSetAside(shape)) return 0;
    if (isShort()) return 0;
    return Math.min(readyMax - this.#floorsBeside(shape), Math.max(shape.floor, shape.demand.target()));
  }

  #floorsBeside(shape: Shape): number {
    return this.#all().reduce((sum, each) => (each === shape ? sum : sum + each.floor), 0);
  }

  /** Starts creations while there is something to make and room to make it. */
  #pump(): void {
    while (this.#creations.size < this.#options.creatingMax && !this.#clearing.signal.aborted) {
      const shape = this.#mostWaited() ?? this.#mostWanting();
      if (shape === null) break;
      this.#create(shape);
    }
    this.#tidyLater();
  }

  #isOpen(shape: Shape): boolean {
    return this.#options.runtime.monotonic() >= shape.openAtMs;
  }

  /** Of the shapes with more waiters than creations, the one whose next waiter comes first. */
  #mostWaited(): Shape | null {
    let best: Shape | null = null;
    let bestWaiter: ShapeWaiter | undefined;
    for (const shape of this.#shapes.values()) {
      const waiter = shape.waiters[shape.creating];
      if (waiter === undefined || !this.#isOpen(shape)) continue;
      const isBefore =
        bestWaiter === undefined ||
        waiter.priority > bestWaiter.priority ||
        (waiter.priority === bestWaiter.priority && waiter.order < bestWaiter.order);
      if (!isBefore) continue;
      best = shape;
      bestWaiter = waiter;
    }
    return best;
  }

  /** The shape that lacks the most ready ones, while fewer than `readyMax` are ready or being made for the shelf. */
  #mostWanting(): Shape | null {
    const all = this.#all();
    const held = all.reduce(
      (sum, { ready, creating, waiters }) => sum + ready.length + Math.max(0, creating - waiters.length),
      0,
    );
    if (held >= this.#options.readyMax) return null;
    let best: Shape | null = null;
    let most = 0;
    for (const shape of all) {
      const lack = this.#target(shape) - shape.ready.length - Math.max(0, shape.creating - shape.waiters.length);
      if (lack <= most || !this.#isOpen(shape)) continue;
      best = shape;
      most = lack;
    }
    return best;
  }

  #create(shape: Shape): void {
    const { provider, runtime } = this.#options;
    const request = shape.waiters[shape.creating]?.request ?? this.#readyRequest(shape.request);
    const startedAt = runtime.monotonic();
    shape.creating += 1;
    const creation = provider
      .create(request, this.#clearing.signal)
      .then(
        (sandbox) => {
          this.#created += 1;
          this.#options.endings.track(sandbox.id);
          const durationMs = runtime.monotonic() - startedAt;
          this.#durations.add(durationMs);
          noteSuccess(shape, durationMs);
          return this.#place(shape, sandbox, request);
        },
        (error: unknown) => this.#fail(shape, toFailure(error), startedAt),
      )
      .finally(() => {
        this.#creations.delete(creation);
        this.#pump();
      });
    this.#creations.add(creation);
  }

  /** Lives long enough to wait on the shelf and still serve its whole time; adopted ones get a clock of their own. */
  #readyRequest(request: SandboxRequest): SandboxRequest {
    const lifetimeMs = request.lifetimeMs + READY_MS_MAX;
    return { ...request, attemptId: "ready", labels: {}, lifetimeMs };
  }

  /** Gives a new sandbox to whoever waits first, else to the shelf. */
  async #place(shape: Shape, sandbox: Sandbox, request: SandboxRequest): Promise<void> {
    shape.creating -= 1;
    const waiter = shape.waiters.shift();
    if (waiter !== undefined) {
      const served = waiter.request === request ? sandbox : await this.#adopt(sandbox, waiter.request);
      if (served !== null && waiter.resolve({ sandbox: served, path: "cold" })) return;
      /* It died, or was made another's whose claim is over: nobody else may have it. */
      if (served === null) enqueue(shape, waiter);
      return this.#options.endings.destroy(sandbox);
    }
    if (this.#clearing.signal.aborted || shape.ready.length >= this.#target(shape))
      return this.#options.endings.destroy(sandbox);
    const now = this.#options.runtime.monotonic();
    shape.ready.push({ sandbox, readyAtMs: now, lookedAtMs: now });
    this.#settlePrewarming();
  }

  #fail(shape: Shape, failure: Failure, startedAtMs: number): void {
    const { runtime } = this.#options;
    shape.creating -= 1;
    this.#failed += 1;
    this.#note(failure);
    if (this.#clearing.signal.aborted) return;
    /* What the request itself is wrong about is its own claim's business and says nothing of the next. */
    const isTransient = failure.code === "sandbox_unavailable" || failure.code === "image_unavailable";
    const waiter = isTransient ? undefined : shape.waiters[0];
    if (waiter !== undefined) return void waiter.reject(failure);
    if (noteFailure(runtime, shape, failure, startedAtMs)) {
      for (const waiter of shape.waiters.splice(0)) waiter.reject(failure);
      for (const each of this.#prewarming.filter((entry) => entry.shape === shape)) each.done(failure);
      this.#prewarming = this.#prewarming.filter((entry) => entry.shape !== shape);
      return;
    }
    this.#pumpAt(shape);
  }

  /** A timer may fire a moment early, so it looks again. */
  #pumpAt(shape: Shape): void {
    const { runtime } = this.#options;
    runtime.timer(Math.max(1, shape.openAtMs - runtime.monotonic()), () => {
      if (this.#isOpen(shape)) this.#pump();
      else this.#pumpAt(shape);
    });
  }

  #settlePrewarming(): void {
    const isDone = ({ shape, count }: { shape: Shape; count: number }): boolean => shape.ready.length >= count;
    for (const each of this.#prewarming.filter(isDone)) each.done();
    this.#prewarming = this.#prewarming.filter((each) => !isDone(each));
  }

  /** Looks after ready ones from time to time, as long as there are some or some are asked for. */
  #tidyLater(): void {
    const { runtime, coolDownMs } = this.#options;
    if (this.#isTidying || this.#clearing.signal.aborted) return;
    if (this.#prewarming.length === 0 && this.#all().every(({ ready }) => ready.length === 0)) return;
    this.#isTidying = true;
    runtime.timer(Math.max(10, Math.min(coolDownMs / 2, LOOK_MS)), () => {
      this.#isTidying = false;
      if (!this.#clearing.signal.aborted) this.#tidy();
    });
  }

  #tidy(): void {
    for (const shape of this.#all()) tidyReady(this.#options, shape, this.#target(shape), (error) => this.#note(error));
    this.#pump();
  }
}
