/** Random sequences of calls, at once and late, on a store and on the model of the lease machine; both must answer alike. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Lease } from "../../src/core/store.ts";
import { Bench, LEASE_MS, type OpenStore, RUN } from "./store-bench.ts";
import { type HeldLease, LeaseModel } from "./store-model.ts";

type Call =
  | { readonly kind: "claim"; readonly episodesMax: number }
  | { readonly kind: "commit"; readonly pick: number }
  | { readonly kind: "release"; readonly pick: number; readonly retryInMs: number | null }
  | { readonly kind: "cancel"; readonly groupFrom: number }
  | { readonly kind: "reap" };

const pick = fc.nat({ max: 1_000 });
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("claim" as const), episodesMax: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("commit" as const), pick }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("release" as const), pick, retryInMs: fc.constantFrom(null, 0, 700) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("cancel" as const), groupFrom: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reap" as const) }) },
);
/** Calls of one round are made at once and answered together; then the clock moves. */
const rounds = fc.array(
  fc.record({ calls: fc.array(call, { maxLength: 6 }), pauseMs: fc.constantFrom(0, 300, 1_000) }),
  {
    maxLength: 25,
  },
);

export function testModel(open: OpenStore): void {
  test("any sequence of calls, also at once and late, is answered as the lease machine says", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, async (plan) => {
        const bench = new Bench(open);
        await bench.open();
        try {
          await bench.begin(4, 2);
          await playRounds(bench, new LeaseModel(8, 2), plan);
        } finally {
          await bench.close();
        }
      }),
      { numRuns: 40 },
    );
  });
}

async function playRounds(
  bench: Bench,
  model: LeaseModel,
  plan: readonly { readonly calls: readonly Call[]; readonly pauseMs: number }[],
): Promise<void> {
  const leases: Lease[] = [];
  for (const { calls, pauseMs } of plan) {
    const expected: unknown[] = [];
    const answers: Promise<unknown>[] = [];
    for (const made of calls) {
      const known = "pick" in made ? leases[made.pick % Math.max(1, leases.length)] : undefined;
      if ("pick" in made && known === undefined) continue;
      expected.push(modelAnswer(model, bench.now, made, known));
      answers.push(storeAnswer(bench, made, known, leases));
    }
    expect(await Promise.all(answers)).toEqual(expected);
    expect(await bench.store.counts(RUN)).toEqual(model.counts());
    bench.now += pauseMs;
  }
  const rows = await bench.store.episodes(RUN, { outcome: "graded" });
  const done = model.episodes.flatMap(({ state }, episodeNo) => (state === "done" ? [episodeNo] : []));
  expect(rows.map(({ episodeNo }) => episodeNo)).toEqual(done);
}

function modelAnswer(model: LeaseModel, now: number, made: Call, lease: HeldLease | undefined): unknown {
  if (made.kind === "claim") return model.claim(now, made.episodesMax, LEASE_MS);
  if (made.kind === "cancel") return model.cancel(made.groupFrom);
  if (made.kind === "reap") return model.reap(now);
  if (lease === undefined) return null;
  return made.kind === "commit" ? model.commit(lease) : model.release(now, lease, made.retryInMs);
}

async function storeAnswer(bench: Bench, made: Call, lease: Lease | undefined, leases: Lease[]): Promise<unknown> {
  if (made.kind === "claim") {
    const claimed = await bench.claim(made.episodesMax);
    leases.push(...claimed);
    return claimed.map(({ episodeNo, attempt, fence }) => ({ episodeNo, attempt, fence }));
  }
  if (made.kind === "cancel") return bench.store.cancel(RUN, { groupFrom: made.groupFrom });
  if (made.kind === "reap") return bench.store.reap(RUN);
  if (lease === undefined) return null;
  return made.kind === "commit" ? bench.commit(lease) : bench.release(lease, made.retryInMs);
}
