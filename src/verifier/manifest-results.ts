/** From the report of a runner to the results of a task's tests: the manifest alone says which tests there are. */
import type { TestsVerifierSpec } from "../core/task.ts";
import type { TestResult } from "../core/verifier.ts";
import type { Report } from "./report-frames.ts";
import type { Graded } from "./template.ts";

/** One result for each test of the manifest; what is not in it is listed apart and counts for nothing. */
export function manifestResults(spec: TestsVerifierSpec, report: Report): Pick<Graded, "tests" | "extraTests"> {
  const reported = new Map(report.tests.map((test) => [test.id, test]));
  const expected = new Set(spec.manifest.map((entry) => entry.id));
  const extraTests = report.tests.filter((test) => !expected.has(test.id)).map((test) => test.id);
  const notes = report.logs.join("\n");
  const tests = spec.manifest.map((entry, index): TestResult => {
    const test = reported.get(entry.id);
    const visibility = spec.tiers.find((tier) => tier.name === entry.tier)?.visibility ?? "hidden";
    const own = test?.detail ?? "the runner did not report this test";
    const detail = index === 0 && notes !== "" ? `${own}\n${notes}`.trim() : own;
    return {
      id: entry.id,
      tier: entry.tier,
      visibility,
      status: test?.status ?? "missing",
      durationMs: test?.durationMs ?? 0,
      detail: detail.slice(0, 2_048),
    };
  });
  return { tests, extraTests };
}
