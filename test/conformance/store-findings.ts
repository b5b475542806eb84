/** What every Store must hold of findings, decisions on them, and verdicts given later. */
import { expect, test } from "vitest";
import type { Finding } from "../../src/core/finding.ts";
import type { Regrade } from "../../src/core/store.ts";
import type { Verdict } from "../../src/core/verifier.ts";
import { type Bench, RUN } from "./store-bench.ts";
import { exampleRecord } from "./store-record.ts";

export const PLANTED: Finding = {
  detector: "planted-reward-file",
  detectorVersion: 1,
  tier: "B",
  pattern: 29,
  effect: "attempted",
  isPunished: false,
  summary: "reward file existed before grading",
  turn: 2,
  file: "/logs/verifier/reward.json",
  line: 1,
  evidence: ['{"reward": 1}', "ümlaut\u0000"],
};

const ID = new RegExp(`^${RUN}-0-[0-9a-f]{12}$`);

export function testFindings(bench: () => Bench): void {
  const commitWith = async (findings: readonly Finding[]): Promise<void> => {
    const lease = await bench().claimOne();
    await bench().store.commit({ lease, record: { ...exampleRecord({ lease }), findings } });
  };
  const idOf = async (): Promise<string> => (await bench().store.findings())[0]?.findingId ?? "none";

  test("findings are there with their episode, and only with it", async () => {
    await bench().begin(1, 2);
    const old = await bench().claimOne();
    await (await bench().reopen()).reap(RUN);
    await commitWith([PLANTED]);
    const { store } = bench();
    await store.commit({
      lease: old,
      record: { ...exampleRecord({ lease: old }), findings: [{ ...PLANTED, turn: 9 }] },
    });
    const rows = await (await bench().reopen()).findings({ runId: RUN });
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ ...PLANTED, runId: RUN, episodeNo: 0, review: "open", policyVersion: 3 });
    expect(rows[0]).toMatchObject({
      findingId: expect.stringMatching(ID),
      taskKey: "first-light/sum",
      reviewedBy: null,
    });
  });

  test("detecting twice adds nothing, also by a newer detector that says the same", async () => {
    await bench().begin(1, 1);
    await commitWith([PLANTED]);
    const { store } = bench();
    expect(await store.addFindings(RUN, 0, [PLANTED, { ...PLANTED, detectorVersion: 2 }])).toBe(0);
    expect(await store.addFindings(RUN, 0, [{ ...PLANTED, turn: 3 }])).toBe(1);
    expect(await store.findings()).toHaveLength(2);
    await expect(store.addFindings(RUN, 7, [PLANTED])).rejects.toMatchObject({ code: "not_found" });
  });

  test("findings are picked by run, episode, group, tier and decision", async () => {
    await bench().begin(2, 1);
    await commitWith([PLANTED]);
    await commitWith([{ ...PLANTED, tier: "A", isPunished: true }]);
    const { store } = bench();
    const found = async (filter: Parameters<typeof store.findings>[0]) =>
      (await store.findings(filter)).map(({ episodeNo, tier }) => `${episodeNo}${tier}`);
    expect(await found({})).toEqual(["0B", "1A"]);
    expect(await found({ episodeNo: 1 })).toEqual(["1A"]);
    expect(await found({ groupFrom: 1, groupTo: 1 })).toEqual(["1A"]);
    expect(await found({ tier: "B" })).toEqual(["0B"]);
    expect(await found({ limit: 1 })).toEqual(["0B"]);
    await store.review(await idOf(), { decision: "legitimate", author: "ann", reason: "asked by the task" });
    expect(await found({ review: "legitimate" })).toEqual(["0B"]);
    expect(await found({ review: "open" })).toEqual(["1A"]);
    await expect(store.findings({ runId: "nowhere" })).rejects.toMatchObject({ code: "not_found" });
  });

  test("decisions are kept with author, reason and time, and the last one holds", async () => {
    await bench().begin(1, 1);
    await commitWith([PLANTED]);
    const id = await idOf();
    await bench().store.review(id, { decision: "confirmed", author: "ann", reason: "seen in turn 2" });
    await bench().store.review(id, { decision: "legitimate", author: "bob", reason: "the task asks for it" });
    const found = await (await bench().reopen()).finding(id);
    expect(found?.row).toMatchObject({ review: "legitimate", reviewedBy: "bob", reviewReason: "the task asks for it" });
    expect(found?.reviews.map(({ decision, author }) => `${author}: ${decision}`)).toEqual([
      "ann: confirmed",
      "bob: legitimate",
    ]);
    const { store } = bench();
    expect(await store.finding(`${RUN}-0-000000000000`)).toBeNull();
    const decision = { decision: "confirmed", author: "ann", reason: "x" } as const;
    await expect(store.review("none", decision)).rejects.toMatchObject({ code: "not_found" });
    await expect(store.review(id, { ...decision, reason: " " })).rejects.toMatchObject({ code: "request_invalid" });
  });

  test("a task is set aside for unstable verdicts in its run, and for a defect in every run", async () => {
    await bench().begin(1, 2);
    const { store } = bench();
    const lease = await bench().claimOne();
    const message = "graded twice with different verdicts";
    const outcome = { kind: "failed", cause: "verifier_fault", failure: "verdict_unstable", message } as const;
    const record = exampleRecord({ lease, outcome });
    await store.release({ lease, failure: "verdict_unstable", message, retryInMs: null, record });
    const unstable = { taskKey: "first-light/sum", reason: "verdict_unstable", runId: RUN, episodeNo: 0 };
    expect(await store.quarantinedTasks(RUN)).toEqual([unstable]);
    await commitWith([PLANTED]);
    const id = (await store.findings({ episodeNo: 1 }))[0]?.findingId ?? "none";
    await store.review(id, { decision: "task-defect", author: "ann", reason: "the file is part of the image" });
    expect((await store.quarantinedTasks(RUN)).map(({ reason }) => reason).sort()).toEqual([
      "task-defect",
      "verdict_unstable",
    ]);
    await store.review(id, { decision: "detector-defect", author: "ann", reason: "it was the detector" });
    expect(await store.quarantinedTasks(RUN)).toEqual([unstable]);
  });
}

const VERDICT: Verdict = {
  total: 0.25,
  isVetoed: false,
  scores: [],
  tests: [],
  extraTests: [],
  measures: [],
  judge: null,
  visible: null,
  identity: "identity",
  gradingSeed: "0",
  imageHash: "image",
  sandboxIds: [],
  durationMs: 1,
  isReused: false,
};

export function testRegrades(bench: () => Bench): void {
  const again = (change: Partial<Regrade> = {}): Regrade => ({
    episodeNo: 0,
    verifierHash: "new",
    reward: 0.25,
    verdict: VERDICT,
    failure: null,
    ...change,
  });

  test("a later verdict stands beside the first one, and training takes it only once it is adopted", async () => {
    await bench().begin(1, 1);
    await bench().commit(await bench().claimOne());
    const { store } = bench();
    await store.addRegrades(RUN, "first", [again()]);
    await store.addRegrades(RUN, "first", [again({ reward: 1 })]);
    await store.addRegrades(RUN, "second", [again({ reward: 0.5 })]);
    expect((await store.regrades(RUN)).map(({ regradeId, reward }) => `${regradeId} ${reward}`)).toEqual([
      "first 0.25",
      "second 0.5",
    ]);
    expect((await store.regrades(RUN, 0))[0]).toMatchObject({
      verdict: VERDICT,
      verifierHash: "new",
      isAdopted: false,
    });
    expect((await store.episodes(RUN))[0]).toMatchObject({ reward: 0.75, rewardAdopted: null });
    expect(await store.adoptRegrade(RUN, "first")).toBe(1);
    expect((await (await bench().reopen()).episodes(RUN))[0]).toMatchObject({ reward: 0.75, rewardAdopted: 0.25 });
    expect((await bench().store.regrades(RUN)).map(({ isAdopted }) => isAdopted)).toEqual([true, false]);
    await bench().store.adoptRegrade(RUN, "second");
    expect((await bench().store.episodes(RUN))[0]).toMatchObject({ reward: 0.75, rewardAdopted: 0.5 });
  });

  test("a grading that failed again is kept with its reason and changes no reward", async () => {
    await bench().begin(1, 1);
    await bench().commit(await bench().claimOne());
    const { store } = bench();
    const failure = { code: "verifier_crashed", message: "gone" } as const;
    await store.addRegrades(RUN, "first", [again({ reward: null, verdict: null, failure })]);
    expect((await store.regrades(RUN))[0]).toMatchObject({ reward: null, verdict: null, failure });
    await expect(store.adoptRegrade(RUN, "first")).rejects.toMatchObject({ code: "not_found" });
    expect((await store.episodes(RUN))[0]).toMatchObject({ reward: 0.75, rewardAdopted: null });
  });
}
