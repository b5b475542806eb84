/** A store in a fresh folder with one run, and a clock that only the test moves, so that leases end without waiting. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Runtime } from "../../src/core/runtime.ts";
import type { Lease, Store } from "../../src/core/store.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { examplePlan, exampleRecord, FAILED } from "./store-record.ts";

/** Opens the store that lives in `folder`, as its owner; opening it again after `close` finds what was there. */
export type OpenStore = (folder: string, runtime: Runtime) => Promise<Store>;

export const RUN = "01RUN";
export const LEASE_MS = 1_000;

/** One store in a fresh folder, and a clock that only the test moves. */
export class Bench {
  readonly folder = mkdtempSync(join(tmpdir(), "sandlot-store-"));
  now = 1_000_000;
  readonly runtime: Runtime = { ...systemRuntime(), now: () => this.now };
  readonly #open: OpenStore;
  #store: Store | null = null;

  constructor(open: OpenStore) {
    this.#open = open;
  }

  get store(): Store {
    if (this.#store === null) throw new Error("the store is not open");
    return this.#store;
  }

  async open(): Promise<Store> {
    this.#store = await this.#open(this.folder, this.runtime);
    return this.#store;
  }

  /** As after the death of the process: a new owner, the same data. */
  async reopen(): Promise<Store> {
    await this.store.close();
    return this.open();
  }

  async close(): Promise<void> {
    await this.#store?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async begin(groups: number, members: number): Promise<void> {
    await this.store.createRun(exampleRun(RUN, 1));
    await this.store.acquireRun(RUN);
    await this.store.plan(RUN, examplePlan(groups, members));
  }

  claim(episodesMax: number): Promise<readonly Lease[]> {
    return this.store.claim({ runId: RUN, workerId: "worker", episodesMax, leaseMs: LEASE_MS });
  }

  async claimOne(): Promise<Lease> {
    const [lease] = await this.claim(1);
    if (lease === undefined) throw new Error("nothing was ready");
    return lease;
  }

  commit(lease: Lease): Promise<string> {
    return this.store.commit({ lease, record: exampleRecord({ lease }) });
  }

  release(lease: Lease, retryInMs: number | null): Promise<string> {
    const record = exampleRecord({ lease, outcome: FAILED });
    return this.store.release({ lease, failure: "sandbox_lost", message: "gone", retryInMs, record });
  }
}

export function exampleRun(runId: string, createdAt: number): Parameters<Store["createRun"]>[0] {
  return { runId, kind: "train", state: "active", name: "first-light", createdAt, recipeHash: "r", config: "{}" };
}
