/**
 * Sandboxes made ahead of need, per shape (image, limits, network, isolation, variables). A shelf keeps few shapes and
 * gives out none that died or waited too long; what it makes too late is destroyed.
 */
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";

/** A ready sandbox lives this much longer than was asked for, and is not lent once it has waited as long. */
const READY_MS_MAX = 120_000;
/** Shapes with ready sandboxes at one time; the one asked for longest ago goes first. */
const SHAPES_MAX = 4;

export interface ReadyShelf {
  /** A ready sandbox of the request's shape, or null. */
  take(request: SandboxRequest): Promise<Sandbox | null>;
  /** Fills the request's shape in the background. */
  refill(request: SandboxRequest): void;
  count(): number;
  /** Destroys what is ready and makes no more. */
  clear(): Promise<void>;
}

export interface ReadyShelfOptions {
  readonly runtime: Runtime;
  readonly readyMax: number;
  readonly create: (request: SandboxRequest, signal: AbortSignal) => Promise<Sandbox>;
  readonly destroy: (sandbox: Sandbox) => Promise<void>;
}

interface Shape {
  readonly request: SandboxRequest;
  readonly ready: { readonly sandbox: Sandbox; readonly readyAt: number }[];
  isRefilling: boolean;
  /** No claim came for it while others did. */
  isRetired: boolean;
}

export function readyShelf({ runtime, readyMax, create, destroy }: ReadyShelfOptions): ReadyShelf {
  const shapes = new Map<string, Shape>();
  const clearing = new AbortController();
  const refills = new Set<Promise<void>>();

  const fill = async (shape: Shape): Promise<void> => {
    if (shape.isRefilling) return;
    shape.isRefilling = true;
    const isOver = (): boolean => clearing.signal.aborted || shape.isRetired;
    const request = { ...shape.request, lifetimeMs: shape.request.lifetimeMs + READY_MS_MAX };
    try {
      while (shape.ready.length < readyMax && !isOver()) {
        const sandbox = await create(request, clearing.signal);
        if (isOver()) await destroy(sandbox);
        else shape.ready.push({ sandbox, readyAt: runtime.monotonic() });
      }
    } catch {
      /* Counted as failed by the pool; the next claim makes its own and is told why that failed. */
    } finally {
      shape.isRefilling = false;
    }
  };
  const shapeOf = (request: SandboxRequest): Shape => {
    const key = shapeKey(request);
    const shape = shapes.get(key) ?? { request, ready: [], isRefilling: false, isRetired: false };
    shapes.delete(key);
    shapes.set(key, shape);
    const [oldestKey, oldest] = shapes.entries().next().value ?? [];
    if (shapes.size > SHAPES_MAX && oldestKey !== undefined && oldest !== undefined) {
      shapes.delete(oldestKey);
      oldest.isRetired = true;
      for (const { sandbox } of oldest.ready.splice(0)) void destroy(sandbox);
    }
    return shape;
  };
  return {
    take: async (request) => {
      if (readyMax === 0) return null;
      const shape = shapeOf(request);
      for (let next = shape.ready.shift(); next !== undefined; next = shape.ready.shift()) {
        const { sandbox, readyAt } = next;
        const isAlive = await sandbox.stats().then(
          () => true,
          () => false,
        );
        if (isAlive && runtime.monotonic() - readyAt < READY_MS_MAX) return sandbox;
        await destroy(sandbox);
      }
      return null;
    },
    refill: (request) => {
      if (readyMax === 0 || clearing.signal.aborted) return;
      const refilling = fill(shapeOf(request)).finally(() => refills.delete(refilling));
      refills.add(refilling);
    },
    count: () => [...shapes.values()].reduce((sum, shape) => sum + shape.ready.length, 0),
    clear: async () => {
      clearing.abort();
      const ready = [...shapes.values()].flatMap((shape) => shape.ready.splice(0));
      await Promise.all([...refills, ...ready.map(({ sandbox }) => destroy(sandbox))]);
    },
  };
}

/** What must be equal for a ready sandbox to serve a claim: commands get the variables it was made with. */
function shapeKey(request: SandboxRequest): string {
  const { image, limits, network, isolationMin, envVars, lifetimeMs } = request;
  return JSON.stringify([image, limits, network, isolationMin, envVars, lifetimeMs]);
}
