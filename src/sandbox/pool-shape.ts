/**
 * One shape of a pool: its ready sandboxes, the claims that wait for one, and how its creations have fared of late. A
 * shape whose creations fail is left alone for a growing time, with the evidence, instead of being tried by every claim.
 */
import type { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import type { ClaimPath } from "../core/sandbox-pool.ts";
import { type Demand, demandOf } from "./pool-demand.ts";

/** Creations that fail in a row before a shape is set aside. */
const FAILURES_MAX = 3;
const BACK_OFF_MS = 50;
const BACK_OFF_MS_MAX = 60_000;

/** A claim that waits for a sandbox of the shape. */
export interface ShapeWaiter {
  readonly request: SandboxRequest;
  readonly priority: number;
  readonly order: number;
  /** False when the claim was given up meanwhile; the sandbox is then still the caller's. */
  readonly resolve: (served: { readonly sandbox: Sandbox; readonly path: ClaimPath }) => boolean;
  readonly reject: (error: unknown) => void;
}

/** One nobody has used, with when it became ready and when it last gave a sign of life (monotonic). */
export interface ReadySandbox {
  readonly sandbox: Sandbox;
  readonly readyAtMs: number;
  lookedAtMs: number;
}

/** The state of one shape; only the shelf changes it. */
export interface Shape {
  readonly key: string;
  /** Made of it: the request that was seen first, or one made up for a prewarmed shape. */
  readonly request: SandboxRequest;
  readonly ready: ReadySandbox[];
  readonly waiters: ShapeWaiter[];
  readonly demand: Demand;
  /** Ready ones kept whatever the demand, since somebody asked for them. */
  floor: number;
  creating: number;
  failuresInRow: number;
  /** No creation before this moment. */
  openAtMs: number;
  lastFailure: Failure | null;
}

/** A shape nobody has claimed yet. */
export function newShape(runtime: Runtime, key: string, request: SandboxRequest, coolDownMs: number): Shape {
  return {
    key,
    request,
    ready: [],
    waiters: [],
    demand: demandOf(runtime, coolDownMs),
    floor: 0,
    creating: 0,
    failuresInRow: 0,
    openAtMs: 0,
    lastFailure: null,
  };
}

/** Puts a waiter in its place: higher priority first, first in, first out within one. */
export function enqueue(shape: Shape, waiter: ShapeWaiter): void {
  const behind = shape.waiters.findIndex((each) => each.priority < waiter.priority);
  shape.waiters.splice(behind < 0 ? shape.waiters.length : behind, 0, waiter);
}

/**
 * Notes a failed creation. Creations that were started before the last failure was known say nothing new and do not
 * count. True when the shape has now failed too often and its waiters should be told.
 */
export function noteFailure(runtime: Runtime, shape: Shape, failure: Failure, startedAtMs: number): boolean {
  const now = runtime.monotonic();
  const isNews = shape.failuresInRow === 0 || startedAtMs >= shape.openAtMs;
  shape.lastFailure = failure;
  if (isNews) {
    shape.failuresInRow += 1;
    /* Random parts keep many hosts from coming back at the same moment. */
    const jitter = 0.5 + (runtime.randomBytes(1)[0] ?? 0) / 255;
    shape.openAtMs = now + Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** shape.failuresInRow * jitter);
  }
  return shape.failuresInRow >= FAILURES_MAX;
}

/** Notes a creation that went well: the shape is open again, and its demand knows how long one takes. */
export function noteSuccess(shape: Shape, durationMs: number): void {
  shape.failuresInRow = 0;
  shape.openAtMs = 0;
  shape.lastFailure = null;
  shape.demand.created(durationMs);
}

/** Whether its last creations failed too often to go on trying. */
export function isSetAside(shape: Shape): boolean {
  return shape.failuresInRow >= FAILURES_MAX;
}

/** Whether nothing is lost by forgetting it. */
export function isUnused(shape: Shape): boolean {
  return shape.ready.length + shape.waiters.length + shape.creating + shape.floor === 0 && !isSetAside(shape);
}

/** What must be equal for a ready sandbox to serve a claim; all that a command can see, where the provider cannot adopt. */
export function shapeKey(request: SandboxRequest, canAdopt: boolean): string {
  const { image, limits, isolationMin, seccomp = "default" } = request;
  const { network, envVars, lifetimeMs, idleMs = 0 } = request;
  const rest = canAdopt ? [] : [network, Object.entries(envVars).toSorted(), lifetimeMs, idleMs];
  return JSON.stringify([image, Object.entries(limits).toSorted(), isolationMin, seccomp, ...rest]);
}
