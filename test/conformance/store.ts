/**
 * What every Store must hold. An adapter passes when this suite is green on it: `storeConformance("mine", open)`
 * inside a vitest file.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Verdict } from "../../src/core/verifier.ts";
import { Bench, exampleRun, LEASE_MS, type OpenStore, RUN } from "./store-bench.ts";
import { testFindings, testRegrades } from "./store-findings.ts";
import { examplePlan, exampleRecord, exampleSegment, FAILED } from "./store-record.ts";
import { testModel } from "./store-sequences.ts";

export function storeConformance(name: string, open: OpenStore): void {
  describe(`the store ${name}`, () => {
    let bench: Bench;
    beforeEach(async () => {
      bench = new Bench(open);
      await bench.open();
    });
    afterEach(() => bench.close());

    describe("runs", () => testRuns(() => bench));
    describe("leases", () => testLeases(() => bench));
    describe("records", () => testRecords(() => bench));
    describe("steps, metrics and verdicts", () => testSteps(() => bench));
    describe("findings", () => testFindings(() => bench));
    describe("later verdicts", () => testRegrades(() => bench));
    testModel(open);
  });
}

function testRuns(bench: () => Bench): void {
  test("a run is listed with what it became, the newest first", async () => {
    const { store } = bench();
    await store.createRun(exampleRun("01OLD", 1));
    await store.createRun(exampleRun("02NEW", 2));
    await store.updateRun("01OLD", { state: "halted", reason: "too many failures", policyVersion: 7 });
    const runs = await (await bench().reopen()).runs();
    expect(runs.map(({ runId }) => runId)).toEqual(["02NEW", "01OLD"]);
    expect(runs[1]).toMatchObject({
      state: "halted",
      reason: "too many failures",
      policyVersion: 7,
      summary: null,
      step: 0,
    });
  });

  test("a run that was taken names its owner until the store is closed", async () => {
    await bench().begin(1, 1);
    expect((await bench().store.run(RUN))?.owner).toMatchObject({ pid: process.pid });
    expect((await (await bench().reopen()).run(RUN))?.owner).toBeNull();
  });

  test("an unknown run is named, and a run id is used once", async () => {
    const { store } = bench();
    expect(await store.run("nowhere")).toBeNull();
    await expect(store.counts("nowhere")).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringMatching(/nowhere/),
    });
    await store.createRun(exampleRun(RUN, 1));
    await expect(store.createRun(exampleRun(RUN, 2))).rejects.toMatchObject({ code: "request_invalid" });
  });
}

function testLeases(bench: () => Bench): void {
  test("planning again changes nothing, also for episodes that have ended", async () => {
    await bench().begin(2, 2);
    await bench().commit(await bench().claimOne());
    await bench().store.plan(RUN, examplePlan(2, 2));
    expect(await bench().store.counts(RUN)).toEqual({ ready: 3, leased: 0, done: 1, failed: 0, cancelled: 0 });
  });

  test("a member of a group keeps its episode number", async () => {
    await bench().begin(1, 2);
    const [group] = examplePlan(1, 2);
    const members = [{ episodeNo: 9, member: 0, samplingSeed: "9" }];
    const moved = group === undefined ? [] : [{ ...group, members }];
    await expect(bench().store.plan(RUN, moved)).rejects.toMatchObject({ code: "request_invalid" });
  });

  test("episodes are leased in order of their numbers, each to one worker at a time", async () => {
    await bench().begin(2, 2);
    const claims = await Promise.all([bench().claim(3), bench().claim(3), bench().claim(3)]);
    expect(claims.map((leases) => leases.map(({ episodeNo }) => episodeNo))).toEqual([[0, 1, 2], [3], []]);
    expect(claims[0]?.[0]).toMatchObject({
      attempt: 1,
      fence: 1,
      groupNo: 0,
      taskRef: "first-light:0",
      gradingSeed: "0",
    });
  });

  test("a claim and a count up to a group leave the episodes of later groups alone", async () => {
    await bench().begin(3, 2);
    const { store } = bench();
    const claim = { runId: RUN, workerId: "w", episodesMax: 10, leaseMs: 60_000 };
    expect((await store.claim({ ...claim, groupTo: 1 })).map(({ episodeNo }) => episodeNo)).toEqual([0, 1, 2, 3]);
    expect(await store.claim({ ...claim, groupTo: 1 })).toEqual([]);
    expect(await store.counts(RUN, { groupTo: 1 })).toMatchObject({ ready: 0, leased: 4 });
    expect(await store.counts(RUN)).toMatchObject({ ready: 2, leased: 4 });
    expect((await store.claim(claim)).map(({ groupNo }) => groupNo)).toEqual([2, 2]);
  });

  test("a commit said twice is answered alike and stored once", async () => {
    await bench().begin(1, 1);
    const lease = await bench().claimOne();
    expect(await Promise.all([bench().commit(lease), bench().commit(lease)])).toEqual(["accepted", "accepted"]);
    expect(await bench().commit(lease)).toBe("accepted");
    expect(await bench().store.episodes(RUN)).toHaveLength(1);
  });

  test("a late result under an old fence is superseded and leaves nothing", async () => {
    await bench().begin(1, 1);
    const old = await bench().claimOne();
    await (await bench().reopen()).reap(RUN);
    const fresh = await bench().claimOne();
    expect(fresh).toMatchObject({ episodeNo: old.episodeNo, attempt: 2, fence: 2 });
    expect(await bench().commit(old)).toBe("superseded");
    expect(await bench().store.episodes(RUN)).toEqual([]);
    expect(await bench().commit(fresh)).toBe("accepted");
    expect((await bench().store.trajectory(RUN, 0))?.document.fence).toBe(2);
  });

  test("leases of a dead owner and leases past their time are ready again, and their attempts are closed as lost", async () => {
    await bench().begin(1, 2);
    await bench().claim(1);
    const store = await bench().reopen();
    expect(await store.reap(RUN)).toBe(1);
    await bench().claim(2);
    expect(await store.reap(RUN)).toBe(0);
    bench().now += LEASE_MS;
    expect(await store.reap(RUN)).toBe(2);
    const attempts = await store.attempts(RUN, 0);
    expect(attempts.map(({ failure }) => failure)).toEqual(["worker_lost", "worker_lost"]);
  });

  test("a result after the lease's time but before the reaper still counts", async () => {
    await bench().begin(1, 1);
    const lease = await bench().claimOne();
    bench().now += LEASE_MS * 10;
    expect(await bench().commit(lease)).toBe("accepted");
  });

  test("a released episode waits, then is tried again with the same seeds", async () => {
    await bench().begin(1, 1);
    const first = await bench().claimOne();
    expect(await bench().release(first, 500)).toBe("requeued");
    expect(await bench().release(first, 500)).toBe("requeued");
    expect(await bench().claim(1)).toEqual([]);
    bench().now += 500;
    const second = await bench().claimOne();
    expect(second).toMatchObject({ attempt: 2, samplingSeed: first.samplingSeed, gradingSeed: first.gradingSeed });
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(await bench().store.attempts(RUN, 0)).toMatchObject([
      { attempt: 1, failure: "sandbox_lost", message: "gone", endedAt: 1_000_000 },
      { attempt: 2, failure: null, endedAt: null },
    ]);
  });

  test("an episode given up keeps its partial record and has no reward", async () => {
    await bench().begin(1, 1);
    const lease = await bench().claimOne();
    expect(await bench().release(lease, null)).toBe("closed");
    expect(await bench().store.counts(RUN)).toMatchObject({ failed: 1 });
    expect(await bench().store.episodes(RUN)).toMatchObject([
      { outcome: "failed", failure: "sandbox_lost", reward: null },
    ]);
    expect((await bench().store.trajectory(RUN, 0))?.document.outcome.kind).toBe("failed");
    expect(await bench().store.episodes(RUN, { outcome: "graded" })).toEqual([]);
  });

  test("cancelling ends what is open, from the named group on, and refuses its late results", async () => {
    await bench().begin(3, 1);
    const [first, second] = await bench().claim(2);
    if (first === undefined || second === undefined) throw new Error("two were ready");
    expect(await bench().store.cancel(RUN, { groupFrom: 1 })).toBe(2);
    expect(await bench().commit(second)).toBe("superseded");
    expect(await bench().commit(first)).toBe("accepted");
    expect(await bench().store.counts(RUN)).toEqual({ ready: 0, leased: 0, done: 1, failed: 0, cancelled: 2 });
  });

  test("hundreds of results at once, each sent twice, count once each", async () => {
    await bench().begin(25, 8);
    const leases = await bench().claim(200);
    const answers = await Promise.all([...leases, ...leases.toReversed()].map((lease) => bench().commit(lease)));
    expect(new Set(answers)).toEqual(new Set(["accepted"]));
    expect(await bench().store.episodes(RUN)).toHaveLength(200);
  });
}

function testRecords(bench: () => Bench): void {
  test("what was stored comes back exactly: document, bodies, tokens bit for bit", async () => {
    await bench().begin(1, 1);
    const lease = await bench().claimOne();
    const segment = exampleSegment(3, [-0.1, Math.fround(-1e-30), -12.5]);
    const record = exampleRecord({ lease, texts: ["sum(xs)", "", "é\u0000\ud800", "x".repeat(600_000)], segment });
    await bench().store.commit({ lease, record });
    const stored = await (await bench().reopen()).trajectory(RUN, 0);
    expect(stored?.document).toEqual(record.document);
    expect(await stored?.segment()).toEqual(segment);
    for (const [hash, bytes] of record.bodies)
      expect(Buffer.from((await stored?.body(hash)) ?? []).equals(bytes)).toBe(true);
  });

  test("the row of a trajectory says what reports need", async () => {
    await bench().begin(1, 2);
    await bench().claim(1);
    const lease = await bench().claimOne();
    bench().now += 250;
    await bench().store.commit({ lease, record: exampleRecord({ lease, segment: exampleSegment(1, [-1, -2]) }) });
    expect(await bench().store.episodes(RUN)).toEqual([
      {
        ...{ runId: RUN, episodeNo: 1, groupNo: 0, member: 1, phase: "train", step: 1, split: "train" },
        ...{
          taskKey: "first-light/sum",
          taskRef: "first-light:0",
          outcome: "graded",
          cause: "completed",
          stopReason: "submitted",
          failure: null,
        },
        ...{
          reward: 0.75,
          rewardAdopted: null,
          isVerdictReused: false,
          policyVersionFirst: 3,
          policyVersionLast: 3,
          attempts: 1,
          turns: 1,
        },
        ...{ sampledTokens: 2, durationMs: 250, finishedAt: 1_000_250 },
      },
    ]);
    expect(await bench().store.episodes(RUN, { phase: "eval" })).toEqual([]);
    expect(await bench().store.episodes(RUN, { step: 1, groupFrom: 0, groupTo: 0, limit: 5 })).toHaveLength(1);
  });

  test("an episode without a record has no trajectory", async () => {
    await bench().begin(1, 1);
    expect(await bench().store.trajectory(RUN, 0)).toBeNull();
  });

  test("a refused record leaves its siblings of the same moment and its own lease untouched", async () => {
    await bench().begin(1, 3);
    const [first, second, third] = await bench().claim(3);
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were ready");
    const wrong = bench().store.commit({ lease: second, record: exampleRecord({ lease: first }) });
    const results = await Promise.allSettled([bench().commit(first), wrong, bench().commit(third)]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    await expect(wrong).rejects.toMatchObject({
      code: "record_invalid",
      message: expect.stringMatching(/id is 01RUN-0/),
    });
    expect(await bench().commit(second)).toBe("accepted");
  });

  test("a failed episode cannot be stored with a reward, nor a graded one be released", async () => {
    await bench().begin(1, 1);
    const lease = await bench().claimOne();
    const outcome = { ...FAILED, reward: 0 } as typeof FAILED;
    const withReward = bench().store.commit({ lease, record: exampleRecord({ lease, outcome }) });
    await expect(withReward).rejects.toMatchObject({
      code: "record_invalid",
      message: expect.stringMatching(/only a graded episode/),
    });
    const request = { lease, failure: "sandbox_lost", message: "", retryInMs: null } as const;
    const released = bench().store.release({ ...request, record: exampleRecord({ lease }) });
    await expect(released).rejects.toMatchObject({
      code: "record_invalid",
      message: expect.stringMatching(/committed, not released/),
    });
  });
}

function testSteps(bench: () => Bench): void {
  const step = (number: number, groupNos: readonly number[], batchId = `batch-${number}`) => ({
    ...{ runId: RUN, step: number, batchId, groupNos, policyVersion: number + 1, weightsSha256: `w${number}` },
  });

  test("a step said twice counts once; another step with its batch or a group of it is refused", async () => {
    await bench().begin(3, 1);
    const { store } = bench();
    await store.commitStep(step(1, [0, 1]));
    await store.commitStep(step(1, [0, 1]));
    const refused = { code: "superseded" };
    await expect(store.commitStep(step(2, [2], "batch-1"))).rejects.toMatchObject(refused);
    await expect(store.commitStep(step(1, [2], "other"))).rejects.toMatchObject(refused);
    await expect(store.commitStep(step(1, [0]))).rejects.toMatchObject(refused);
    await expect(store.commitStep(step(2, [2, 1]))).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/Group 1 .* step 1/),
    });
    await expect(store.commitStep(step(3, [2, 2]))).rejects.toMatchObject({ code: "record_invalid" });
    expect(await store.steps(RUN)).toEqual([step(1, [0, 1])]);
    expect(await store.run(RUN)).toMatchObject({ step: 1, policyVersion: 2 });
  });

  test("after a roll back the later steps are gone and their groups can be trained on again", async () => {
    await bench().begin(3, 1);
    const { store } = bench();
    for (const number of [1, 2, 3]) await store.commitStep(step(number, [number - 1]));
    await store.rollBack(RUN, 1);
    expect(await store.run(RUN)).toMatchObject({ step: 1, policyVersion: 2 });
    await store.commitStep(step(2, [2, 1]));
    expect(await store.steps(RUN)).toEqual([step(1, [0]), step(2, [2, 1])]);
    await store.rollBack(RUN, 0);
    expect(await store.run(RUN)).toMatchObject({ step: 0, policyVersion: 0 });
    expect(await store.steps(RUN)).toEqual([]);
  });

  test("metric points are replaced by step, and NaN and infinities stay what they are", async () => {
    await bench().begin(1, 1);
    await bench().store.addPoints(RUN, [
      { id: "loss", step: 1, value: 0.5 },
      { id: "loss", step: 2, value: Number.NaN },
      { id: "kl", step: 1, value: Number.NEGATIVE_INFINITY },
      { id: "loss", step: 1, value: 0.25 },
    ]);
    const store = await bench().reopen();
    expect(await store.points(RUN, ["loss"])).toEqual([
      { id: "loss", step: 1, value: 0.25 },
      { id: "loss", step: 2, value: Number.NaN },
    ]);
    expect(await store.points(RUN)).toHaveLength(3);
    expect(await store.points(RUN, ["kl"])).toEqual([{ id: "kl", step: 1, value: Number.NEGATIVE_INFINITY }]);
  });

  test("a verdict is found again by its identity, also after a restart", async () => {
    const verdict: Verdict = {
      ...{ total: 1, scores: [], tests: [], identity: "i".repeat(64), gradingSeed: "1", imageHash: "h" },
      ...{ isVetoed: false, extraTests: [], measures: [], judge: null, visible: null },
      ...{ sandboxIds: ["s"], durationMs: 3, isReused: false },
    };
    expect(bench().store.find(verdict.identity)).toBeNull();
    bench().store.remember(verdict);
    expect(bench().store.find(verdict.identity)).toEqual(verdict);
    expect((await bench().reopen()).find(verdict.identity)).toEqual(verdict);
    bench().store.forget(verdict.identity);
    expect(bench().store.find(verdict.identity)).toBeNull();
    expect((await bench().reopen()).find(verdict.identity)).toBeNull();
  });

  test("usage counts rows and bytes", async () => {
    await bench().begin(1, 1);
    await bench().commit(await bench().claimOne());
    const { databaseBytes, objectBytes } = await bench().store.usage();
    expect(databaseBytes).toBeGreaterThan(4_096);
    expect(objectBytes).toBeGreaterThan(100);
  });
}
