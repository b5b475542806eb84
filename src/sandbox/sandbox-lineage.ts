/**
 * Snapshot, fork and reset of one sandbox of the namespace provider. Its storage is sealed as a layer when its machine
 * ends, and fresh machines stand on it: the sandbox itself goes on in one of them, behind the same handle and id. Nothing
 * is sealed under a running process.
 */
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { ResetReport, Sandbox, SandboxStats, Snapshot, SnapshotOptions } from "../core/sandbox.ts";
import type { AgentClient } from "./agent-client.ts";
import type { Renewal } from "./agent-sandbox.ts";
import { decodeStats } from "./agent-stats.ts";
import { FRAME } from "./frames.ts";
import type { Layer, LayerStacks } from "./layer-stack.ts";
import type { Machine } from "./machine.ts";
import type { Zygote } from "./zygote.ts";

const FORKS_AT_ONCE_MAX = 1_024;
/** The machine that takes an old one's place is tried for again: without it the sandbox is lost. */
const TRIES_MAX = 3;

export interface LineageOptions {
  readonly runtime: Runtime;
  readonly sandboxId: string;
  readonly zygote: Zygote;
  readonly stacks: LayerStacks;
  /** A machine for this sandbox on a layer. */
  createMachine(layer: Layer | null): Promise<Machine>;
  /** Another sandbox on a layer, with a life of its own. */
  createSandbox(layer: Layer): Promise<Sandbox>;
  /** Keeps a stack of layers on this sandbox's image as an image of the store; null where there is no store. */
  readonly persist: ((layer: Layer) => Promise<string>) | null;
}

interface Point {
  readonly layer: Layer;
  readonly bytes: number;
}

export class SandboxLineage implements Renewal {
  readonly #options: LineageOptions;
  readonly #snapshots = new Map<string, Point>();
  /** Machines that were replaced and are not gone yet. */
  readonly #retired = new Set<Promise<void>>();
  #machine: Machine;
  /** What the machine stands on, held; null for the image alone. */
  #base: Layer | null;

  /** Takes over the caller's hold of `base`. */
  constructor(options: LineageOptions, machine: Machine, base: Layer | null) {
    this.#options = options;
    this.#machine = machine;
    this.#base = base;
  }

  get machine(): Machine {
    return this.#machine;
  }

  async snapshot({ live = "refuse", persist = false }: SnapshotOptions): Promise<Snapshot> {
    const { runtime, stacks } = this.#options;
    if (persist && this.#options.persist === null)
      throw new Failure("unsupported", "This provider has no image store that could keep a snapshot.");
    const { layer, bytes } = await this.#seal(live);
    try {
      if (live !== "copy") await this.#renew(layer);
      await stacks.keepLow(layer);
      const image = persist ? ((await this.#options.persist?.(layer)) ?? null) : null;
      const id = runtime.id().toLowerCase();
      stacks.hold(layer);
      this.#snapshots.set(id, { layer, bytes });
      return { id, kind: "filesystem", bytes, layers: stacks.names(layer).length, image };
    } finally {
      stacks.release(layer);
    }
  }

  async fork(count: number, { live = "refuse", persist = false }: SnapshotOptions): Promise<readonly Sandbox[]> {
    const { stacks } = this.#options;
    if (!Number.isInteger(count) || count < 1 || count > FORKS_AT_ONCE_MAX)
      throw new Failure("request_invalid", `A fork makes 1 to ${FORKS_AT_ONCE_MAX} sandboxes, not ${count}.`);
    if (persist) throw new Failure("request_invalid", "A fork keeps no image; take a snapshot with persist for that.");
    const { layer } = await this.#seal(live);
    try {
      const forks = Array.from({ length: count }, () => this.#options.createSandbox(layer));
      const [renewed, ...made] = await Promise.allSettled([
        live === "copy" ? Promise.resolve() : this.#renew(layer),
        ...forks,
      ]);
      const failed = [renewed, ...made].find((each) => each.status === "rejected");
      const sandboxes = made.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      if (failed !== undefined) {
        await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
        throw failed.reason;
      }
      await stacks.keepLow(layer);
      return sandboxes;
    } finally {
      stacks.release(layer);
    }
  }

  async reset(snapshotId: string | undefined): Promise<ResetReport> {
    const { runtime, sandboxId } = this.#options;
    const started = runtime.monotonic();
    const point = snapshotId === undefined ? null : this.#snapshots.get(snapshotId);
    if (point === undefined)
      throw new Failure("not_found", `Sandbox ${sandboxId} has no snapshot "${snapshotId}"; use an id it gave itself.`);
    this.#retire("reset");
    await this.#renew(point?.layer ?? null);
    const stats = await statsOf(this.#machine.client);
    return {
      bytes: stats.diskBytes ?? 0,
      files: stats.files ?? 0,
      processes: stats.processes ?? 0,
      durationMs: runtime.monotonic() - started,
    };
  }

  /** Frees what the sandbox and its snapshots hold; resolves when every machine it ever had is gone. Called once. */
  async end(): Promise<void> {
    const { stacks } = this.#options;
    const held = [...this.#snapshots.values()].map((point) => point.layer);
    this.#snapshots.clear();
    for (const layer of this.#base === null ? held : [this.#base, ...held]) stacks.release(layer);
    this.#base = null;
    await Promise.all(this.#retired);
  }

  /** What was written so far as a layer, held for the caller. Unless it was copied, the machine is on its way out. */
  async #seal(live: NonNullable<SnapshotOptions["live"]>): Promise<Point> {
    const { sandboxId, zygote, stacks } = this.#options;
    const { boxId, client } = this.#machine;
    const stats = await statsOf(client);
    if (live === "refuse" && stats.processes !== 0)
      throw new Failure(
        "sandbox_busy",
        `Sandbox ${sandboxId} has ${stats.processes ?? "an unknown number of"} live processes, which a snapshot would ` +
          'not carry; end them, or pass live: "kill" or live: "copy".',
      );
    await stacks.keepLow(this.#base);
    const bytes = stats.diskBytes ?? 0;
    if (live === "copy") {
      let copied: Promise<void> = Promise.resolve();
      const layer = stacks.add(this.#base, (name) => {
        copied = zygote.layers?.copy(name, boxId) ?? copied;
      });
      try {
        await copied;
        return { layer, bytes };
      } catch (error) {
        stacks.release(layer);
        throw error;
      }
    }
    const layer = stacks.add(this.#base, (name) => zygote.layers?.seal(boxId, name));
    this.#retire("renewed");
    return { layer, bytes };
  }

  #retire(how: string): void {
    const { client, kill } = this.#machine;
    client.markDestroyed(
      new Failure("sandbox_destroyed", `The commands of sandbox ${this.#options.sandboxId} ended when it was ${how}.`),
    );
    kill();
    const gone = client.gone.then(() => void this.#retired.delete(gone));
    this.#retired.add(gone);
  }

  /** Puts a machine on `layer` in the place of the one that was retired. */
  async #renew(layer: Layer | null): Promise<void> {
    const { stacks } = this.#options;
    for (let tries = 1; ; tries += 1) {
      try {
        this.#machine = await this.#options.createMachine(layer);
        break;
      } catch (error) {
        const mayRetry = error instanceof Failure && error.code === "sandbox_unavailable" && tries < TRIES_MAX;
        if (!mayRetry) throw error;
      }
    }
    if (layer !== null) stacks.hold(layer);
    if (this.#base !== null) stacks.release(this.#base);
    this.#base = layer;
  }
}

async function statsOf(client: AgentClient): Promise<SandboxStats> {
  return decodeStats(await client.ask(FRAME.stats));
}
