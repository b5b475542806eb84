/**
 * The sealed layers of one helper process, counted by who still needs them. A layer stands on the one below it; a stack
 * that has grown tall is merged into one layer, on which all later sandboxes stand instead. The last one to let go of a
 * layer frees it, so a fork outlives the sandbox it came from.
 */
import { Failure } from "../core/errors.ts";
import type { ZygoteLayers } from "./zygote.ts";

/** Beyond this many a stack is merged in the background. */
export const FLATTEN_ABOVE = 50;
/** A sandbox stands on at most this many; the helper mounts no more. */
export const STACK_MAX = 120;

/** One sealed layer. Held by each sandbox and snapshot that stands on it, and by each layer above it. */
export interface Layer {
  /** Under which the helper knows it; another one after a merge. */
  name: string;
  below: Layer | null;
  holders: number;
  merging: Promise<void> | null;
}

/** Every layer of one helper. */
export class LayerStacks {
  readonly #helper: ZygoteLayers;
  /** Creations under way, each of which has told the helper names that must stay valid until it has ended. */
  readonly #creations = new Set<Promise<unknown>>();
  #nextName = 1;

  constructor(helper: ZygoteLayers) {
    this.#helper = helper;
  }

  /** A new layer on `below`, held once for the caller; `make` tells the helper what becomes of it. */
  add(below: Layer | null, make: (name: string) => void): Layer {
    const layer = { name: this.#newName(), below, holders: 1, merging: null };
    if (below !== null) this.hold(below);
    make(layer.name);
    return layer;
  }

  hold(layer: Layer): void {
    layer.holders += 1;
  }

  release(layer: Layer): void {
    layer.holders -= 1;
    if (layer.holders > 0) return;
    this.#drop(layer.name);
    if (layer.below !== null) this.release(layer.below);
    layer.below = null;
  }

  /** Runs a creation, during which every name it may have used stays valid. */
  async during<T>(create: () => Promise<T>): Promise<T> {
    const creation = create();
    const settled = creation.catch(() => undefined);
    this.#creations.add(settled);
    void settled.then(() => this.#creations.delete(settled));
    return creation;
  }

  /** Names of a stack, top first. */
  names(top: Layer | null): string[] {
    const names: string[] = [];
    for (let layer = top; layer !== null; layer = layer.below) names.push(layer.name);
    return names;
  }

  /** Merges a stack that has grown tall, in the background; one that would not fit under a sandbox is waited for. */
  async keepLow(top: Layer | null): Promise<void> {
    const height = this.names(top).length;
    if (top === null || height <= FLATTEN_ABOVE) return;
    const merging = this.flatten(top);
    if (height < STACK_MAX) merging.catch(() => undefined);
    else await merging;
  }

  /** Makes one layer of a stack, if it is not one already. Throws `sandbox_unavailable` with what stood in the way. */
  async flatten(top: Layer): Promise<void> {
    if (top.below === null) return;
    top.merging ??= this.#merge(top).finally(() => {
      top.merging = null;
    });
    await top.merging;
  }

  async #merge(top: Layer): Promise<void> {
    const name = this.#newName();
    this.hold(top);
    try {
      await this.#helper.merge(name, this.names(top));
      this.#drop(top.name);
      top.name = name;
      if (top.below !== null) this.release(top.below);
      top.below = null;
    } catch (cause) {
      const message = `A stack of ${this.names(top).length} layers could not be merged: ${String(cause)}`;
      throw new Failure("sandbox_unavailable", message, { cause });
    } finally {
      this.release(top);
    }
  }

  #drop(name: string): void {
    if (this.#creations.size === 0) this.#helper.drop(name);
    else void Promise.all(this.#creations).then(() => this.#helper.drop(name));
  }

  #newName(): string {
    const name = `l${this.#nextName.toString(36)}`;
    this.#nextName += 1;
    return name;
  }
}
