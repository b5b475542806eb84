/** The verifier of every task: picks the templates the task names, then scores what their tests say. */
import { Failure } from "../core/errors.ts";
import type { JudgeEndpoint } from "../core/judge.ts";
import type { ScoreVector } from "../core/outcome.ts";
import type { Runtime } from "../core/runtime.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { TestRunner, TestsVerifierSpec, Tier } from "../core/task.ts";
import type { GradeRequest, Verifier } from "../core/verifier.ts";
import { httpTemplate } from "./http.ts";
import { gradeByJudge } from "./judge.ts";
import { gradeMatch } from "./match.ts";
import { mathEquality } from "./math-equal.ts";
import { nodeTestTemplate } from "./node-test.ts";
import { performanceTemplate } from "./performance.ts";
import { pytestTemplate } from "./pytest.ts";
import { rewardFileTemplate } from "./reward-file.ts";
import { shellTemplate } from "./shell.ts";
import { sqlTemplate } from "./sql.ts";
import { type Graded, type RewardFileScore, specOf, type Template } from "./template.ts";
import { tierScore } from "./tier-score.ts";
import { turnTaker } from "./turn-taker.ts";
import { unittestTemplate } from "./unittest.ts";
import { gradeVisible } from "./visible-suite.ts";

/** Raised when equal inputs may give another verdict than before. */
const VERSION = 3;

/** What a verifier is made of. */
export interface VerifierParts {
  readonly runtime: Runtime;
  /** Asked for tasks with a rubric; without one their grading is a fault of the verifier. */
  readonly judge?: JudgeEndpoint;
}

/** A verifier that keeps nothing between gradings; see the port for its promises. */
export function createVerifier({ runtime, judge }: VerifierParts): Verifier {
  const parts = { runtime, inTurn: turnTaker() };
  const mathematics = mathEquality(runtime);
  const templates: Partial<Record<TestRunner, Template>> = {
    sql: sqlTemplate(parts),
    unittest: unittestTemplate(parts),
    pytest: pytestTemplate(parts),
    "node-test": nodeTestTemplate(parts),
    shell: shellTemplate(parts),
    http: httpTemplate(parts),
    performance: performanceTemplate(parts),
    "reward-file": rewardFileTemplate(parts),
  };
  return {
    version: VERSION,
    grade: async (request, sandboxes) => {
      const { task, gradingSeed, signal } = request;
      if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
      const startedMs = runtime.monotonic();
      const spec = task.verifier;
      const graded =
        spec.kind === "match"
          ? await gradeMatch(request, spec, sandboxes, { runtime, mathEqual: mathematics.equal })
          : await gradeTests(templates, request, spec, sandboxes, runtime);
      const rewardFiles = graded.rewardFiles ?? [];
      const claimed = new Map(rewardFiles.map((one) => [one.tier, one.total]));
      const { total, isVetoed, scores } = tierScore(spec.tiers, graded.tests, claimed, graded.measures);
      const asked = { endpoint: judge ?? null, runtime };
      return {
        total,
        isVetoed,
        scores: [...scores, ...rewardFiles.flatMap((one) => claimedScores(one, spec.tiers))],
        tests: graded.tests,
        extraTests: graded.extraTests ?? [],
        measures: graded.measures ?? [],
        judge: await gradeByJudge(request, { total, isVetoed, tests: graded.tests }, asked),
        visible: await gradeVisible(request, sandboxes, runtime),
        gradingSeed: gradingSeed.toString(),
        imageHash: graded.imageHash,
        sandboxIds: graded.sandboxIds,
        durationMs: runtime.monotonic() - startedMs,
      };
    },
  };
}

/** Runs one template after the other, each over all tiers that name it, in the order of the tiers. */
async function gradeTests(
  templates: Partial<Record<TestRunner, Template>>,
  request: GradeRequest,
  spec: TestsVerifierSpec,
  sandboxes: SandboxPool,
  runtime: Runtime,
): Promise<Graded> {
  const endMs = runtime.monotonic() + request.task.limits.gradeMs;
  const all: Graded[] = [];
  for (const [runner, tiers] of Map.groupBy(spec.tiers, runnerOf)) {
    const template = templates[runner];
    if (template === undefined) {
      const message = `The tier "${tiers[0]?.name}" of ${request.task.key} names the runner "${runner}", which is not served.`;
      throw new Failure("task_invalid", message);
    }
    // A tier may take what the tiers before have left, but never so little that it cannot start.
    const gradeMs = Math.max(1_000, endMs - runtime.monotonic());
    all.push(await template({ request, spec: specOf(spec, tiers), gradeMs }, sandboxes));
  }
  return {
    tests: all.flatMap((one) => one.tests),
    sandboxIds: all.flatMap((one) => one.sandboxIds),
    imageHash: all.find((one) => one.imageHash !== "")?.imageHash ?? "",
    extraTests: all.flatMap((one) => one.extraTests ?? []),
    measures: all.flatMap((one) => one.measures ?? []),
    rewardFiles: all.flatMap((one) => one.rewardFiles ?? []),
  };
}

/** All that a script wrote, beside the score of its tier and without a weight. */
function claimedScores({ tier: name, values }: RewardFileScore, tiers: readonly Tier[]): ScoreVector {
  const visibility = tiers.find((tier) => tier.name === name)?.visibility ?? "hidden";
  return Object.entries(values).map(([key, value]) => {
    return { verifier: "reward-file", name: key, value, weight: 0, tier: name, visibility, gate: false };
  });
}

function runnerOf(tier: Tier): TestRunner {
  return tier.runner ?? "unittest";
}
