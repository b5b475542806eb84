/** What follows an episode: findings that are punished, verdicts that are given twice, faults that are held against the oracle. */
import { afterEach, expect, test } from "vitest";
import { greets, greetTask, memory, planOf, ruleVerifier } from "../../test/support/episode-parts.ts";
import { type TinyPool, tinyPool } from "../../test/support/tiny-sandbox.ts";
import type { DetectEpisode } from "../core/detector.ts";
import type { EpisodePlan } from "../core/episode.ts";
import { Failure } from "../core/errors.ts";
import type { Finding, FindingTier } from "../core/finding.ts";
import type { CheatingRule } from "../core/outcome.ts";
import type { Task } from "../core/task.ts";
import type { TestStatus, VerdictMemory, Verifier } from "../core/verifier.ts";
import { scriptPolicy } from "../policy/oracle.ts";
import { shellTool } from "../policy/tool/shell.ts";
import { submitTool } from "../policy/tool/submit.ts";
import { systemRuntime } from "../runtime/system.ts";
import { createEpisodeRunner, type EpisodeRunnerOptions } from "./run-episode.ts";

const runtime = systemRuntime();
const pools: TinyPool[] = [];

afterEach(() => {
  for (const pool of pools.splice(0)) expect(pool.lent()).toBe(0);
});

function runnerOf(change: Partial<EpisodeRunnerOptions> = {}) {
  const pool = tinyPool(runtime);
  pools.push(pool);
  return createEpisodeRunner({
    pool,
    verifier: ruleVerifier(greets),
    verdicts: memory(),
    identity: ({ artifacts, gradingSeed }) => `${artifacts.hash}/${gradingSeed}`,
    tools: [shellTool(), submitTool()],
    systemText: null,
    runtime,
    code: { sandlot: "0.0.0", commit: null },
    ...change,
  });
}

const never = new AbortController().signal;
const solver = scriptPolicy(greetTask().oracle);
const loser = scriptPolicy({ name: "loser", answer: null, files: [], commands: ["write /work/out no"] });
const run = (
  change: Partial<EpisodeRunnerOptions>,
  policy = solver,
  plan: Partial<EpisodePlan> = {},
  task = greetTask(),
) => runnerOf(change)(planOf(task, policy, plan), never);

function finding(tier: FindingTier, isPunished = false): Finding {
  return {
    ...{ detector: "planted-file", detectorVersion: 1, tier, pattern: 29, effect: "attempted", isPunished },
    ...{ summary: "reward file existed before grading", turn: 1, file: "/x", line: null, evidence: ["1"] },
  };
}
const found =
  (...findings: Finding[]): DetectEpisode =>
  () => ({ findings, failed: [] });

/** Gives these totals, one after another, then the last for ever. */
function fickle(...totals: number[]): Verifier & { grades: number } {
  let count = 0;
  return ruleVerifier(() => totals[Math.min(count++, totals.length - 1)] ?? 0);
}

test.each<[string, CheatingRule | undefined, object]>([
  ["nothing by default", undefined, { reward: 0, isExcluded: false }],
  ["a penalty, where the run says so", { kind: "penalty", penalty: -0.3 }, { reward: -0.3, isExcluded: false }],
  ["at most 0.5, whatever it says", { kind: "penalty", penalty: -7 }, { reward: -0.5 }],
  ["nothing, and none of its tokens train, where it is excluded", { kind: "exclude" }, { reward: 0, isExcluded: true }],
])("deterministic evidence of cheating earns %s", async (_title, cheating, expected) => {
  const record = await run({ detect: found(finding("A", true)), ...(cheating && { cheating }) });
  expect(record.document.outcome).toMatchObject({
    kind: "graded",
    cause: "cheating",
    stopReason: "submitted",
    ...expected,
  });
  expect(record.findings).toEqual([finding("A", true)]);
  expect(record.document.verification).toMatchObject({ total: 1 });
});

test.each<[string, Finding]>([
  ["tier A that may be legitimate", finding("A")],
  ["tier B", finding("B")],
  ["tier C", finding("C")],
  ["tier D, whatever it asks for", finding("D", true)],
])("a finding of %s changes no reward", async (_title, one) => {
  const { document, findings } = await run({ detect: found(one) });
  expect(document.outcome).toMatchObject({ cause: "completed", reward: 1 });
  expect(findings).toEqual([one]);
});

test("detectors read the record and its task, and a failed episode keeps its findings and no reward", async () => {
  let seen: Task | null = null;
  const detect: DetectEpisode = ({ document, task, body }) => {
    seen = task;
    expect(body(document.turns[0]?.textBlob ?? "")).not.toBeNull();
    return { findings: [finding("A", true)], failed: ["slow-one: it broke"] };
  };
  const verifier = ruleVerifier(() => {
    throw new Failure("verifier_crashed", "The runner died.");
  });
  const { document, findings } = await run({ detect, verifier });
  expect(seen).toMatchObject({ key: "test/greet" });
  expect(document.outcome).toMatchObject({ kind: "failed", cause: "verifier_fault" });
  expect(document.outcome).not.toHaveProperty("reward");
  expect(findings).toHaveLength(1);
  expect(document.extra["detectorsFailed"]).toEqual(["slow-one: it broke"]);
});

test("detectors that break take nothing from the episode, and are named", async () => {
  const detect: DetectEpisode = () => {
    throw new Error("no such evidence");
  };
  const { document } = await run({ detect });
  expect(document.outcome).toMatchObject({ cause: "completed", reward: 1 });
  expect(document.extra["detectionFailed"]).toBe("no such evidence");
});

test("a verdict with strong evidence beside it is given twice, and one that repeats stands", async () => {
  const verifier = ruleVerifier(greets);
  const { document } = await run({ verifier, detect: found(finding("B")), reverifyShare: 1e-9 });
  expect(verifier.grades).toBe(2);
  expect(document.outcome).toMatchObject({ cause: "completed", reward: 1 });
  expect(document.extra["reverification"]).toEqual({ reason: "tier-b", isEqual: true, total: 1 });
});

/** Scores from tests, so that two verdicts can differ in them. */
function tested(statuses: readonly TestStatus[]): Verifier & { grades: number } {
  const inner = ruleVerifier(greets);
  let count = 0;
  const verifier: Verifier & { grades: number } = {
    version: 1,
    grades: 0,
    grade: async (request, sandboxes) => {
      verifier.grades += 1;
      const status = statuses[Math.min(count++, statuses.length - 1)] ?? "passed";
      const result = { id: "unit/a", tier: "unit", visibility: "hidden", status, durationMs: 1, detail: "" } as const;
      return { ...(await inner.grade(request, sandboxes)), tests: [result] };
    },
  };
  return verifier;
}

test("a verdict that does not repeat leaves no reward, and is not remembered", async () => {
  const verdicts = memory();
  let identity = "";
  const spied: VerdictMemory = {
    ...verdicts,
    remember: (verdict) => {
      identity = verdict.identity;
      verdicts.remember(verdict);
    },
  };
  const { document } = await run({ verifier: tested(["passed", "failed"]), verdicts: spied, reverifyShare: 1 });
  expect(document.outcome).toMatchObject({
    ...{ kind: "failed", cause: "verifier_fault", failure: "verdict_unstable" },
    message: expect.stringMatching(/test\/greet.*unit\/a was passed and then failed/),
  });
  expect(document.outcome).not.toHaveProperty("reward");
  expect(document.extra["reverification"]).toMatchObject({ reason: "sample", isEqual: false });
  expect(identity).not.toBe("");
  expect(spied.find(identity)).toBeNull();
});

test("which verdicts are given twice follows from the seeds, at the share that was asked for", async () => {
  const runner = runnerOf({ reverifyShare: 0.2 });
  const chosen = async (): Promise<number[]> => {
    const seeds = Array.from({ length: 100 }, (_, index) => index);
    const records = await Promise.all(
      seeds.map((seed) => runner(planOf(greetTask(), solver, { samplingSeed: BigInt(seed) }), never)),
    );
    return seeds.filter((seed) => records[seed]?.document.extra["reverification"] !== undefined);
  };
  const first = await chosen();
  expect(first.length).toBeGreaterThan(8);
  expect(first.length).toBeLessThan(35);
  expect(await chosen()).toEqual(first);
});

test("a second grading that fails is noted and takes nothing from a verdict that was given", async () => {
  let count = 0;
  const verifier = ruleVerifier(() => {
    if (count++ > 0) throw new Failure("verifier_crashed", "The runner died.");
    return 1;
  });
  const { document } = await run({ verifier, reverifyShare: 1 });
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
  expect(document.extra["reverification"]).toEqual({ reason: "sample", fault: "The runner died." });
});

test("a task that nobody solved and that is suddenly solved is graded twice", async () => {
  const runner = runnerOf({ reverifyShare: 1e-9 });
  for (let index = 0; index < 8; index += 1) await runner(planOf(greetTask(), loser), never);
  const { document } = await runner(planOf(greetTask(), solver), never);
  expect(document.extra["reverification"]).toMatchObject({ reason: "reward-jump", isEqual: true });
  expect((await runner(planOf(greetTask(), solver), never)).document.extra["reverification"]).toBeUndefined();
});

test("a verifier that fails on one state and passes its oracle is listed for review, as a fault all the same", async () => {
  const failsOn = (text: string) =>
    ruleVerifier((artifacts) => {
      if (artifacts.files.some(({ bytes }) => Buffer.from(bytes).toString() === text))
        throw new Failure("verifier_crashed", "The runner died.");
      return greets(artifacts);
    });
  const one = await run({ verifier: failsOn("no"), oraclePolicy: scriptPolicy }, loser);
  expect(one.document.outcome).toMatchObject({ kind: "failed", cause: "verifier_fault", failure: "verifier_crashed" });
  expect(one.findings).toMatchObject([{ detector: "verifier-fault-suspect", tier: "B", isPunished: false }]);
  const other = await run({ verifier: failsOn("hello"), oraclePolicy: scriptPolicy });
  expect(other.document.outcome).toMatchObject({ cause: "verifier_fault" });
  expect(other.findings).toEqual([]);
});

test("a verdict with a test that ran out of time is not remembered", async () => {
  const slow = tested(["timeout", "passed"]);
  const runner = runnerOf({ verifier: slow });
  await runner(planOf(greetTask(), solver), never);
  const { document } = await runner(planOf(greetTask(), solver), never);
  expect(slow.grades).toBe(2);
  expect(document.tests).toMatchObject([{ status: "passed" }]);
  expect((await runner(planOf(greetTask(), solver), never)).document.verification).toMatchObject({ isReused: true });
});

test("time is measured for each episode anew, also of equal states", async () => {
  const [tier] = greetTask().verifier.tiers;
  if (tier === undefined) throw new Error("the task has a tier");
  const performance = { ...tier, runner: "performance" } as const;
  const task = greetTask({ verifier: { kind: "tests", tiers: [performance], files: [], manifest: [] } });
  const verifier = ruleVerifier(greets);
  const runner = runnerOf({ verifier });
  await runner(planOf(task, solver), never);
  expect((await runner(planOf(task, solver), never)).document.verification).toMatchObject({ isReused: false });
  expect(verifier.grades).toBe(2);
});

test("a judge that cannot be reached is asked again from the frozen state, and then the verifier's fault", async () => {
  let asked = 0;
  const judged = (refusals: number) =>
    ruleVerifier(() => {
      if (asked++ < refusals) throw new Failure("endpoint_unavailable", "Nobody listens there.");
      return 1;
    });
  expect((await run({ verifier: judged(2) })).document.outcome).toMatchObject({ kind: "graded", reward: 1 });
  asked = 0;
  const { document } = await run({ verifier: judged(9) });
  expect(document.outcome).toMatchObject({
    cause: "verifier_fault",
    message: expect.stringMatching(/judge.*Nobody listens/),
  });
  expect(asked).toBe(3);
});

test("a low reward is not got rid of by a product that answers differently the second time", async () => {
  const { document, findings } = await run({ verifier: fickle(0, 1), reverifyShare: 1 });
  expect(document.outcome).toMatchObject({ kind: "graded", cause: "completed", reward: 0 });
  expect(findings).toMatchObject([{ detector: "verdict-unstable", tier: "B", isPunished: false }]);
  const equal = await run({ verifier: fickle(0.5, 0.5), reverifyShare: 1 });
  expect(equal.findings).toEqual([]);
});

test("a total that does not repeat is enough to distrust a verdict", async () => {
  const { document } = await run({ verifier: fickle(1, 0.5), reverifyShare: 1 });
  expect(document.outcome).toMatchObject({
    failure: "verdict_unstable",
    message: expect.stringMatching(/was 1 and then 0\.5/),
  });
});
