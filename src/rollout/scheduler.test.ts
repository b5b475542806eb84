import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { examplePlan, exampleRecord, GRADED } from "../../test/conformance/store-record.ts";
import type { EpisodePlan, EpisodeRunner } from "../core/episode.ts";
import { FAILURES, type FailureCode, failureClass } from "../core/errors.ts";
import type { Outcome } from "../core/outcome.ts";
import type { Store } from "../core/store.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openStore } from "../store/open-store.ts";
import { failureBudget } from "./failure-budget.ts";
import { retryDelay, runReadyEpisodes, type SchedulerOptions } from "./scheduler.ts";

const runtime = systemRuntime();
const limits = { episodesMax: 8, attemptsMax: 5, leaseMs: 60_000, retryBaseMs: 1, retryMaxMs: 5 };
let folder: string;
let store: Store;
let runId: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-test-"));
  store = await openStore({ folder, runtime, mode: "owner" });
  runId = runtime.id();
  await store.createRun({
    runId,
    kind: "train",
    state: "active",
    name: "t",
    createdAt: 0,
    recipeHash: "",
    config: "{}",
  });
  await store.acquireRun(runId);
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** A runner that ends each attempt as told, and counts attempts and how many ran at once. */
function runner(outcomeOf: (plan: EpisodePlan) => Outcome, waitMs = 1) {
  const seen = { attempts: 0, atOnce: 0, mostAtOnce: 0 };
  const run: EpisodeRunner = async (plan, signal) => {
    seen.attempts += 1;
    seen.atOnce += 1;
    seen.mostAtOnce = Math.max(seen.mostAtOnce, seen.atOnce);
    const isCancelled = await runtime.sleep(waitMs, signal).then(
      () => false,
      () => true,
    );
    seen.atOnce -= 1;
    const outcome: Outcome = isCancelled ? { kind: "cancelled", cause: "run_ended" } : outcomeOf(plan);
    const episodeNo = Number(plan.episodeId.split("-").at(-1));
    const groupNo = Number(plan.groupId.split("-g").at(-1));
    const { member, attempt, fence } = plan;
    return exampleRecord({ lease: { runId, episodeNo, groupNo, member, attempt, fence }, outcome });
  };
  return { run, seen };
}

function options(run: EpisodeRunner, more: Partial<SchedulerOptions> = {}): SchedulerOptions {
  const never = new AbortController().signal;
  return {
    runId,
    store,
    runtime,
    runEpisode: run,
    limits,
    groupTo: 1_000,
    budget: failureBudget({ failureShareMax: 1, failuresInRowMax: 1_000 }),
    resolve: () =>
      ({ task: {}, policy: {}, taskSet: "", recipeHash: "" }) as unknown as ReturnType<SchedulerOptions["resolve"]>,
    onFinished: () => undefined,
    onFailed: () => undefined,
    drain: never,
    abort: never,
    ...more,
  };
}

const failed = (failure: FailureCode): Outcome => ({
  kind: "failed",
  cause: "infra_during",
  failure,
  message: "so it goes",
});

test("every planned episode is run once and ends done, never more at once than permitted", async () => {
  await store.plan(runId, examplePlan(10, 4));
  const { run, seen } = runner(() => GRADED);
  expect(await runReadyEpisodes(options(run))).toBe("idle");
  expect(seen).toMatchObject({ attempts: 40, mostAtOnce: limits.episodesMax });
  expect(await store.counts(runId)).toMatchObject({ done: 40, ready: 0, leased: 0 });
});

test("records that end close together are stored and followed by one claim, and the last of all waits for nobody", async () => {
  await store.plan(runId, examplePlan(8, 4));
  let claims = 0;
  const counted: Store = {
    ...store,
    claim: (request) => {
      claims += 1;
      return store.claim(request);
    },
  };
  // A wait that never ends by itself: whoever waits for another time than that all have ended waits for ever.
  const patient = { ...runtime, timer: () => () => undefined };
  const { run } = runner(() => GRADED);
  const staggered: EpisodeRunner = async (plan, signal) => {
    await runtime.sleep(plan.member * 20, signal);
    return run(plan, signal);
  };
  expect(await runReadyEpisodes(options(staggered, { store: counted, runtime: patient }))).toBe("idle");
  expect(await store.counts(runId)).toMatchObject({ done: 32 });
  expect(claims).toBeLessThan(14);
});

test("an infrastructure failure is tried again with the same seeds, and the reward of the good attempt counts", async () => {
  await store.plan(runId, examplePlan(1, 4));
  const seeds = new Map<string, Set<bigint>>();
  const { run, seen } = runner((plan) => {
    seeds.set(plan.episodeId, (seeds.get(plan.episodeId) ?? new Set()).add(plan.samplingSeed));
    return plan.attempt < 3 ? failed("sandbox_lost") : GRADED;
  });
  expect(await runReadyEpisodes(options(run))).toBe("idle");
  expect(seen.attempts).toBe(12);
  expect([...seeds.values()].map((set) => set.size)).toEqual([1, 1, 1, 1]);
  const rows = await store.episodes(runId);
  expect(rows.map((row) => [row.outcome, row.attempts, row.reward])).toEqual(rows.map(() => ["graded", 3, 0.75]));
});

test("episodes of later groups wait, ready as they are, and do not keep the earlier ones from being over", async () => {
  await store.plan(runId, examplePlan(4, 2));
  const { run, seen } = runner(() => GRADED);
  expect(await runReadyEpisodes(options(run, { groupTo: 1 }))).toBe("idle");
  expect(seen.attempts).toBe(4);
  expect((await store.episodes(runId)).map((row) => row.groupNo)).toEqual([0, 0, 1, 1]);
  expect(await store.counts(runId)).toMatchObject({ done: 4, ready: 4 });
});

test("a retry does not wait for the long episode beside it", async () => {
  await store.plan(runId, examplePlan(1, 2));
  const isRetried = Promise.withResolvers<void>();
  const { run } = runner((plan) => (plan.member === 1 && plan.attempt === 1 ? failed("sandbox_lost") : GRADED));
  const longFirst: EpisodeRunner = async (plan, signal) => {
    if (plan.member === 0) await isRetried.promise;
    else if (plan.attempt === 2) isRetried.resolve();
    return run(plan, signal);
  };
  const late = { ...limits, retryBaseMs: 400, retryMaxMs: 400 };
  expect(await runReadyEpisodes(options(longFirst, { limits: late }))).toBe("idle");
  expect(await store.counts(runId)).toMatchObject({ done: 2 });
});

test("attempts used up leave a recorded failure without a reward, and siblings go on", async () => {
  await store.plan(runId, examplePlan(1, 3));
  const { run, seen } = runner((plan) => (plan.member === 1 ? failed("endpoint_unavailable") : GRADED));
  expect(await runReadyEpisodes(options(run))).toBe("idle");
  expect(seen.attempts).toBe(2 + limits.attemptsMax);
  const rows = await store.episodes(runId);
  expect(rows.find((row) => row.member === 1)).toMatchObject({
    outcome: "failed",
    failure: "endpoint_unavailable",
    reward: null,
  });
  expect(await store.counts(runId)).toMatchObject({ done: 2, failed: 1, ready: 0, leased: 0 });
});

test("a drain lets running episodes finish and claims no more; the rest stays ready", async () => {
  await store.plan(runId, examplePlan(10, 4));
  const drain = new AbortController();
  const { run, seen } = runner(() => {
    drain.abort();
    return GRADED;
  });
  expect(await runReadyEpisodes(options(run, { drain: drain.signal }))).toBe("drained");
  expect(seen.attempts).toBe(limits.episodesMax);
  expect(await store.counts(runId)).toMatchObject({
    done: limits.episodesMax,
    ready: 40 - limits.episodesMax,
    leased: 0,
  });
});

test("an abort ends running episodes at once, and they are ready again as if never begun", async () => {
  await store.plan(runId, examplePlan(1, 4));
  const abort = new AbortController();
  const { run } = runner(() => GRADED, 60_000);
  const end = runReadyEpisodes(options(run, { abort: abort.signal }));
  await runtime.sleep(20);
  abort.abort();
  expect(await end).toBe("drained");
  expect(await store.counts(runId)).toMatchObject({ ready: 4, leased: 0, done: 0, cancelled: 0 });
  const again = runner(() => GRADED);
  expect(await runReadyEpisodes(options(again.run))).toBe("idle");
  expect(await store.counts(runId)).toMatchObject({ done: 4 });
});

test("a run halts with the reason when its failure budget is spent, and nothing stays leased", async () => {
  await store.plan(runId, examplePlan(20, 8));
  const budget = failureBudget({ failureShareMax: 1, failuresInRowMax: 10 });
  const { run } = runner(() => failed("sandbox_unavailable"));
  const end = runReadyEpisodes(options(run, { budget }));
  await expect(end).rejects.toMatchObject({ code: "run_halted" });
  await expect(end).rejects.toThrow(/1\d attempts in a row failed.*sandbox_unavailable/s);
  expect(await store.counts(runId)).toMatchObject({ leased: 0, done: 0 });
});

test("our own mistake is tried once more, then halts the run", async () => {
  await store.plan(runId, examplePlan(1, 1));
  const { run, seen } = runner(() => failed("unexpected"));
  await expect(runReadyEpisodes(options(run))).rejects.toThrow("fault of Sandlot");
  expect(seen.attempts).toBe(2);
});

test("whether an attempt follows depends on the failure class alone, and its delay stays within the bound", () => {
  const codes = Object.keys(FAILURES) as FailureCode[];
  fc.assert(
    fc.property(fc.constantFrom(...codes), fc.integer({ min: 1, max: 8 }), (code, attempt) => {
      const delay = retryDelay(code, attempt, { limits, runtime });
      const kind = failureClass(code);
      const most = { policy: 1, user: 1, verifier: 1, ours: 2, task: 2 }[kind as string] ?? limits.attemptsMax;
      expect(delay === null).toBe(attempt >= most);
      if (delay !== null) expect(delay >= 0 && delay <= limits.retryMaxMs).toBe(true);
    }),
  );
});

test("a share of failures says nothing before fifty attempts, and halts above its bound after", () => {
  const budget = failureBudget({ failureShareMax: 0.2, failuresInRowMax: 50 });
  for (let index = 0; index < 48; index += 1) budget.record(index % 2 === 0);
  expect(budget.exceeded()).toBeNull();
  for (let index = 0; index < 2; index += 1) budget.record(false);
  expect(budget.exceeded()).toContain("24 of the last 50");
  for (let index = 0; index < 500; index += 1) budget.record(false);
  expect(budget.exceeded()).toBeNull();
});
