/**
 * From test results to the score T, the one formula:
 *
 *     s_k = passed tests / tests of tier k, of a performance tier the mean of its measures if every test passed
 *     ok_k = [s_k >= threshold_k]      open_k = product of ok over requires_k
 *     T = (product of ok over gate tiers) * sum(w_k * open_k * s_k) / sum(w_k),  0 <= T <= 1
 *
 * Visible tiers weigh 0: visible tests are feedback. Pure; the graded side never states a score.
 */
import { Failure } from "../core/errors.ts";
import type { Score, ScoreVector } from "../core/outcome.ts";
import type { Tier } from "../core/task.ts";
import type { Measure, TestResult } from "../core/verifier.ts";

const EPSILON = 1e-9;

/** What the tiers of a task come to. */
export interface TierScore {
  /** T, in [0, 1]. */
  readonly total: number;
  /** True when a veto tier is below its threshold. */
  readonly isVetoed: boolean;
  /** One score a tier, in the tiers' order; null for a visible tier without tests. */
  readonly scores: ScoreVector;
}

/**
 * Scores all tests of one grading; only `passed` counts, but for tiers in `earned`, whose s_k is given there,
 * and performance tiers, whose s_k was measured.
 * Throws `task_invalid` when a test or a requirement names no tier, a tier that counts has no test, or no tier weighs.
 */
export function tierScore(
  tiers: readonly Tier[],
  results: readonly Pick<TestResult, "tier" | "status">[],
  earned: ReadonlyMap<string, number> = new Map(),
  measures: readonly Pick<Measure, "tier" | "score">[] = [],
): TierScore {
  const counts = new Map(tiers.map((tier) => [tier.name, { tests: 0, passed: 0 }]));
  for (const result of results) {
    const count = counts.get(result.tier);
    if (count === undefined) throw invalid(`a test names the tier "${result.tier}", which is not declared`);
    count.tests += 1;
    if (result.status === "passed") count.passed += 1;
  }
  const scores = tiers.map((tier): Score => {
    const { tests, passed } = counts.get(tier.name) ?? { tests: 0, passed: 0 };
    if (tests === 0 && (tier.visibility === "hidden" || tier.gate)) {
      throw invalid(`the tier "${tier.name}" has no test`);
    }
    return {
      verifier: tier.runner ?? "match",
      name: tier.name,
      value: earned.get(tier.name) ?? (tests === 0 ? null : shareOf(tier, passed / tests, measures)),
      weight: tier.visibility === "visible" ? 0 : tier.weight,
      tier: tier.name,
      visibility: tier.visibility,
      gate: tier.gate,
    };
  });
  return { total: total(tiers, scores), isVetoed: isVetoed(tiers, scores), scores };
}

/** A wrong output earns nothing, however fast it came; and so does a performance tier of which nothing was measured. */
function shareOf({ name, runner }: Tier, passed: number, measures: readonly Pick<Measure, "tier" | "score">[]): number {
  if (runner !== "performance") return passed;
  const scores = measures.filter((measure) => measure.tier === name).map(({ score }) => score);
  if (passed < 1 || scores.length === 0 || !scores.every((score) => score >= 0 && score <= 1)) return 0;
  return scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

function total(tiers: readonly Tier[], scores: ScoreVector): number {
  const weights = scores.reduce((sum, score) => sum + score.weight, 0);
  if (!(weights > 0)) throw invalid("no hidden tier has a weight above 0");
  const ok = new Map(tiers.map((tier, index) => [tier.name, (scores[index]?.value ?? 0) >= tier.threshold - EPSILON]));
  let earned = 0;
  for (const [index, tier] of tiers.entries()) {
    const score = scores[index];
    const isOpen = tier.requires.every((name) => isMet(ok, tier, name));
    if ((tier.gate || tier.veto === true) && ok.get(tier.name) !== true) return 0;
    if (score !== undefined && isOpen) earned += score.weight * (score.value ?? 0);
  }
  return Math.min(1, Math.max(0, earned / weights));
}

function isVetoed(tiers: readonly Tier[], scores: ScoreVector): boolean {
  return tiers.some((tier, index) => tier.veto === true && (scores[index]?.value ?? 0) < tier.threshold - EPSILON);
}

function isMet(ok: ReadonlyMap<string, boolean>, tier: Tier, required: string): boolean {
  const met = ok.get(required);
  if (met === undefined) throw invalid(`the tier "${tier.name}" requires "${required}", which is not declared`);
  return met;
}

function invalid(what: string): Failure {
  return new Failure("task_invalid", `The task cannot be scored: ${what}. Correct the tiers of its verifier.`);
}
