/**
 * What a template is: it runs the tests of the tiers that name its runner and says how each ended. It never states a
 * score; that is the platform's, from all templates' results together.
 */
import type { Runtime } from "../core/runtime.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { TestsVerifierSpec, Tier } from "../core/task.ts";
import type { GradeRequest, Measure, TestResult } from "../core/verifier.ts";
import type { RewardValues } from "./reward-values.ts";
import type { TurnTaker } from "./turn-taker.ts";

/** What the templates of one verifier share. */
export interface TemplateParts {
  readonly runtime: Runtime;
  /** Whoever claims several sandboxes claims them in turn, or gradings that each hold one could wait for ever. */
  readonly inTurn: TurnTaker;
}

/** What one template is given. */
export interface TemplateInput {
  readonly request: GradeRequest;
  /** The task's own, cut down to this template: its tiers, their entries of the manifest, their files and the shared ones. */
  readonly spec: TestsVerifierSpec;
  /** Of the whole grading; what the templates before have used is gone. */
  readonly gradeMs: number;
}

/** What one template found out. */
export interface Graded {
  /** One for each entry of the manifest. */
  readonly tests: readonly TestResult[];
  readonly sandboxIds: readonly string[];
  /** Empty when no sandbox was needed. */
  readonly imageHash: string;
  readonly extraTests?: readonly string[];
  readonly measures?: readonly Measure[];
  /** Of tiers whose scripts write their own reward: it takes the place of the share of passed tests. */
  readonly rewardFiles?: readonly RewardFileScore[];
}

/** What a script claimed, checked and clamped. */
export interface RewardFileScore extends RewardValues {
  readonly tier: string;
}

/** Throws only what the contract of `Verifier.grade` allows. */
export type Template = (input: TemplateInput, sandboxes: SandboxPool) => Promise<Graded>;

/** The spec as one template sees it: files of other templates' tiers are left out, for nobody there needs to read them. */
export function specOf(spec: TestsVerifierSpec, tiers: readonly Tier[]): TestsVerifierSpec {
  const names = new Set(tiers.map((tier) => tier.name));
  const others = spec.tiers.filter((tier) => !names.has(tier.name)).map((tier) => `/tests/${tier.name}/`);
  return {
    ...spec,
    tiers,
    files: spec.files.filter((file) => !others.some((folder) => file.path.startsWith(folder))),
    manifest: spec.manifest.filter((entry) => names.has(entry.tier)),
  };
}
