/** What findings, penalties, exclusions and regrades do to the batch that a step trains on: real store, scripted episodes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exampleRecord, exampleSegment } from "../../test/conformance/store-record.ts";
import { greetTask } from "../../test/support/episode-parts.ts";
import type { EpisodeRunner } from "../core/episode.ts";
import type { Finding } from "../core/finding.ts";
import { type GradedOutcome, gradedBy, type Outcome, punished } from "../core/outcome.ts";
import type { PolicySnapshot } from "../core/policy-backend.ts";
import type { Store } from "../core/store.ts";
import type { Batch } from "../core/training.ts";
import { nopPolicy } from "../policy/nop.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openStore } from "../store/open-store.ts";
import { grpoAdvantages } from "../trainer/algorithm/grpo.ts";
import { progressBoard } from "./progress.ts";
import { recipeSchema } from "./recipe.ts";
import { reinforce } from "./reinforce.ts";
import { trainContext } from "./train-context.ts";

const runtime = systemRuntime();
const RUN = "train";
const SIZE = 12;
/** Episode of the group's first member; the evaluation before has the one before it. */
const FIRST = 2;
let folder: string;
let store: Store;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-test-"));
  store = await openStore({ folder, runtime, mode: "owner" });
  await store.createRun({
    ...{ runId: RUN, kind: "train", state: "active", name: "t", createdAt: 0, recipeHash: "", config: "{}" },
  });
  await store.acquireRun(RUN);
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

interface Member {
  readonly outcome: Outcome;
  readonly findings?: readonly Finding[];
}

const earns = (reward: number): GradedOutcome => gradedBy("submitted", reward, []);
const strong: Finding = {
  ...{ detector: "grader-introspection", detectorVersion: 1, tier: "B", pattern: 15, effect: "attempted" },
  ...{
    isPunished: false,
    summary: "stack introspection in the solution",
    turn: 1,
    file: null,
    line: null,
    evidence: [],
  },
};
const certain: Finding = { ...strong, detector: "planted-file", tier: "A", isPunished: true };

/** Takes one step over one group of these members, the rest of which earn 0; gives the batch and the stored metrics. */
async function step(members: readonly Member[]): Promise<{ batch: Batch | null; saved: readonly string[] }> {
  const base = recipeSchema.parse({});
  const rl = { ...base.rl, steps: 1, groupsPerBatch: 1, groupSize: SIZE, checkpointEverySteps: 1 };
  const evaluation = { episodes: 1, isGreedyReported: false };
  const recipe = { ...base, rl, evaluation, tasks: { ...base.tasks, heldOutHard: "" } };
  const runEpisode: EpisodeRunner = async (plan) => {
    const { outcome, findings } = members[plan.member] ?? { outcome: earns(0) };
    const { member, attempt, fence } = plan;
    const episodeNo = Number(plan.episodeId.split("-").at(-1));
    const groupNo = Number(plan.groupId.split("-g").at(-1));
    const lease = { runId: RUN, episodeNo, groupNo, member, attempt, fence };
    return { ...exampleRecord({ lease, outcome, segment: exampleSegment(2, [-1]) }), findings: findings ?? [] };
  };
  let batch: Batch | null = null;
  const saved: string[] = [];
  const snapshot = { version: 0, sha256: "w" } as PolicySnapshot;
  const board = progressBoard(
    runtime,
    () => undefined,
    () => 0,
  );
  const signal = new AbortController().signal;
  const context = trainContext(
    {
      ...{ runId: RUN, recipe, recipeHash: "", taskSet: "t", isResumed: false, store, runtime, runEpisode },
      trainer: {
        superviseStep: async () => ({ step: 0, metrics: {} }),
        policyStep: async (taken) => {
          batch = taken;
          return { step: taken.step, metrics: {} };
        },
      },
      weights: {
        snapshot: async () => snapshot,
        save: async (name: string) => {
          saved.push(name);
        },
      } as never,
      checkpoints: async () => saved,
      taskAt: () => greetTask(),
      cells: null,
      policyAt: () => nopPolicy(),
      ...{ setReference: () => undefined, demonstrations: () => [], sandboxesCreated: () => 0, cores: 1 },
      advantages: grpoAdvantages({ divideByStd: false }),
      createBatch: (number, items) => ({ id: `batch-${number}`, step: number, items }),
      ...{ dataFolder: folder, onEvent: () => undefined, drain: signal, abort: signal },
    },
    board,
    { wallSeconds: 0, sandboxesCreated: 0, secondsByPhase: {}, secondsByEpisodePhase: {} },
  );
  context.current = snapshot;
  try {
    await reinforce(context, 0);
  } finally {
    board.close();
  }
  return { batch, saved };
}

const membersOf = ({ batch }: { batch: Batch | null }): readonly string[] =>
  (batch?.items ?? []).map(
    ({ episodeId, advantage }) => `${Number(episodeId.split("-").at(-1)) - FIRST} ${advantage > 0 ? "+" : "-"}`,
  );
const others = Array.from({ length: SIZE - 1 }, (_, index) => `${index + 1} -`);
const metric = async (id: string): Promise<number | undefined> => (await store.points(RUN, [id]))[0]?.value;

test("a rewarded member with strong evidence stands in the baseline, and none of its tokens train", async () => {
  const taken = await step([{ outcome: earns(1), findings: [strong] }]);
  expect(membersOf(taken)).toEqual(others);
  expect(taken.batch?.items[0]?.advantage).toBeCloseTo(-1 / SIZE);
  expect(await metric("rollout/quarantined")).toBe(1);
  expect([await metric("reward/findings_a"), await metric("reward/findings_b")]).toEqual([0, 1]);
  expect(await metric("reward")).toBeCloseTo(1 / SIZE);
});

test("a member that its finding does not help trains like any other, so that a finding never pays", async () => {
  const taken = await step([{ outcome: earns(1) }, { outcome: earns(0), findings: [strong] }]);
  expect(membersOf(taken)).toEqual(["0 +", ...others]);
});

test("cheating trains with what it earned, and is left out of training where it is excluded", async () => {
  const penalty = punished(earns(1), { kind: "penalty", penalty: -0.5 });
  const taken = await step([{ outcome: penalty, findings: [certain] }, { outcome: earns(1) }]);
  expect(membersOf(taken)).toEqual(["0 -", "1 +", ...others.slice(1)]);
  expect(taken.batch?.items[0]?.reward).toBe(-0.5);
});

test("an excluded member is 0 in the baseline and absent from the batch", async () => {
  const excluded = punished(earns(1), { kind: "exclude" });
  const taken = await step([{ outcome: excluded, findings: [certain] }, { outcome: earns(1) }]);
  expect(membersOf(taken)).toEqual(["1 +", ...others.slice(1)]);
  expect(taken.batch?.items[0]?.advantage).toBeCloseTo(1 - 1 / SIZE);
});

test("failed members leave the baseline, however they failed", async () => {
  const failed = { kind: "failed", cause: "verifier_fault", failure: "verifier_crashed", message: "gone" } as const;
  const taken = await step([{ outcome: failed }, { outcome: earns(1) }]);
  expect(membersOf(taken)).toEqual(["1 +", ...others.slice(1)]);
  expect(taken.batch?.items[0]?.advantage).toBeCloseTo(1 - 1 / (SIZE - 1));
  expect(await metric("rollout/discards_verifier_fault")).toBeCloseTo(1 / SIZE);
  expect([await metric("rollout/discards_infra_before"), await metric("rollout/discards_infra_during")]).toEqual([
    0, 0,
  ]);
});

test("no member of a task whose verdicts did not repeat trains", async () => {
  const unstable = { kind: "failed", cause: "verifier_fault", failure: "verdict_unstable", message: "twice" } as const;
  const taken = await step([{ outcome: unstable }, { outcome: earns(1) }]);
  expect(membersOf(taken)).toEqual([]);
  expect(await metric("rollout/quarantined")).toBe(SIZE - 1);
});

test("many findings that nobody reviewed pause the run before the step, and a review lets it go on", async () => {
  const two = [0, 1].map((): Member => ({ outcome: earns(1), findings: [strong] }));
  await expect(step(two)).rejects.toMatchObject({
    code: "run_halted",
    message: expect.stringMatching(/2 of 12 graded episodes.*sandlot finding list train.*sandlot run resume train/),
  });
  expect(await store.steps(RUN)).toEqual([]);
  for (const { findingId } of await store.findings()) {
    await store.review(findingId, { decision: "legitimate", author: "ann", reason: "asked for by the task" });
  }
  expect(membersOf(await step(two))).toEqual(["0 +", "1 +", ...others.slice(1)]);
});

test("a regrade that was adopted stands in for the reward of the episode", async () => {
  const two = [0, 1].map((): Member => ({ outcome: earns(1), findings: [strong] }));
  await expect(step(two)).rejects.toMatchObject({ code: "run_halted" });
  const [row] = await store.episodes(RUN);
  const verdict = { total: 0.25 } as never;
  const again = { episodeNo: row?.episodeNo ?? 0, verifierHash: "v", reward: 0.25, verdict, failure: null };
  await store.addRegrades(RUN, "again", [again]);
  await store.adoptRegrade(RUN, "again");
  for (const { findingId } of await store.findings()) {
    await store.review(findingId, { decision: "detector-defect", author: "ann", reason: "it was wrong" });
  }
  const { batch } = await step(two);
  expect(batch?.items.slice(0, 2).map(({ reward }) => reward)).toEqual([0.25, 1]);
});
