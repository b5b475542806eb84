/** What a check of a task says: one line per check, and one verdict over them. Rendering is the command line's. */

export type CheckStatus = "pass" | "fail" | "skip" | "not-assessed";

/** E makes a task invalid, W needs a look, I informs. */
export type CheckSeverity = "E" | "W" | "I";

export interface CheckResult {
  readonly id: CheckId;
  /** Its number in the documentation of `sandlot task check`. */
  readonly number: number;
  readonly status: CheckStatus;
  readonly severity: CheckSeverity;
  /** One line: what was seen, and of a failure which script, test or file it was. */
  readonly evidence: string;
  /** Where to look; null when no one file is at fault. */
  readonly file: string | null;
  readonly line: number | null;
  readonly durationMs: number;
}

export type CheckVerdict = "valid" | "invalid" | "incomplete" | "error";

export interface CheckReport {
  /** Of the task; the name of a generator; the folder when the task cannot be read. */
  readonly key: string;
  readonly kind: "folder" | "generator";
  readonly folder: string | null;
  readonly checks: readonly CheckResult[];
  readonly verdict: CheckVerdict;
}

/** The checks of the quick profile, in the order they are reported. */
export const CHECKS = {
  "folder-valid": { number: 1, severity: "E" },
  "oracle-passes": { number: 3, severity: "E" },
  "nop-fails": { number: 4, severity: "E" },
  "oracle-stable": { number: 5, severity: "E" },
  "wrong-rejected": { number: 17, severity: "E" },
  "alternatives-pass": { number: 18, severity: "W" },
  "verifier-independent": { number: 22, severity: "E" },
  "test-manifest": { number: 29, severity: "E" },
  "tests-assert": { number: 30, severity: "W" },
  "instruction-form": { number: 37, severity: "W" },
  "no-solution-text": { number: 38, severity: "W" },
} as const satisfies Record<string, { readonly number: number; readonly severity: CheckSeverity }>;

export type CheckId = keyof typeof CHECKS;

export interface Finding {
  readonly status: CheckStatus;
  readonly evidence: string;
  readonly file?: string | null;
  readonly line?: number | null;
}

/** A finding as a line of the report. */
export function checkResult(id: CheckId, finding: Finding, durationMs = 0): CheckResult {
  const { status, evidence, file = null, line = null } = finding;
  return { id, ...CHECKS[id], status, evidence, file, line, durationMs };
}

/** A failed check of severity E makes a task invalid; one that could not be assessed leaves it incomplete. */
export function verdictOf(checks: readonly CheckResult[]): CheckVerdict {
  const errors = checks.filter(({ severity }) => severity === "E");
  if (errors.some(({ status }) => status === "fail")) return "invalid";
  if (errors.some(({ status }) => status === "not-assessed")) return "incomplete";
  return errors.length === 0 ? "error" : "valid";
}

const WORST: readonly CheckStatus[] = ["fail", "not-assessed", "pass", "skip"];

/** One report over several tasks of a generator: per check the worst status, with the keys of the tasks that have it. */
export function mergedChecks(
  reports: readonly { readonly key: string; readonly checks: readonly CheckResult[] }[],
): CheckResult[] {
  return Object.keys(CHECKS).flatMap((id): CheckResult[] => {
    const all = reports.flatMap(({ key, checks }) =>
      checks.filter((check) => check.id === id).map((check) => ({ key, check })),
    );
    const status = WORST.find((candidate) => all.some(({ check }) => check.status === candidate));
    if (status === undefined) return [];
    const having = all.filter(({ check }) => check.status === status);
    const first = having[0]?.check;
    if (first === undefined) return [];
    const isWorthNaming = status === "fail" || status === "not-assessed";
    const evidence = isWorthNaming
      ? having.map(({ key, check }) => `${key}: ${check.evidence}`).join("; ")
      : `${all.length} tasks: ${first.evidence}`;
    const durationMs = all.reduce((sum, { check }) => sum + check.durationMs, 0);
    return [{ ...first, evidence, durationMs }];
  });
}
